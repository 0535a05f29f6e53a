"""Catalogs of the CUDA libraries, and the order in which entry points are numbered in recordings."""

from __future__ import annotations

from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import asdict, replace

from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.catalog import (
    Api,
    Catalog,
    EntryPoint,
    EntryPointRow,
    Parameter,
    Returned,
    Signature,
    Tables,
    driver,
)
from cuvet.catalog.roles import Role, Verb

_WRITTEN = (Verb.CREATES, Verb.RETURNS)


class _Type(msgspec.Struct, frozen=True, gc=False):
    """How a value of a type is passed or returned; the fields of ``Parameter``."""

    abi: Literal["word", "float", "double", "struct", "complex", "void"] = "word"
    bytes: int = 8
    signed: bool = False
    align: int = 0
    pointee: str | None = None
    pointee_bytes: int = 0
    const: bool = False


class _SignatureRow(msgspec.Struct):
    """``symbols`` maps each symbol to the indexes of the shared objects that export it, one digit each; ``parameters`` are C text."""

    symbols: dict[str, str]
    parameters: str


class _EntryPointRow(msgspec.Struct):
    name: str
    signatures: tuple[_SignatureRow, ...]
    returns: str = ""


class _Tables(msgspec.Struct):
    sonames: tuple[str, ...]
    entry_points: list[_EntryPointRow]
    types: dict[str, _Type]


@cache
def libraries() -> dict[str, Catalog]:
    """Catalog of each library, in the order in which recordings number their entry points."""
    catalogs: dict[str, Catalog] = {}
    first = len(driver().entry_points)
    for api in LIBRARIES:
        catalogs[api] = _catalog(api, first)
        first += len(catalogs[api].entry_points)
    return catalogs


@cache
def recorded() -> tuple[EntryPoint, ...]:
    """The entry points by their ids in recordings: the driver's, then each library's."""
    return tuple(chain(driver().entry_points, *(library.entry_points for library in libraries().values())))


def recorded_entry_point(name: str) -> EntryPoint | None:
    """The entry point of the driver or of a library that has this name, None if there is none. Libraries are read only if need be."""
    for catalog in (driver(),) if name in driver() else libraries().values():
        if name in catalog:
            return catalog[name]
    return None


def _catalog(api: Api, first: int) -> Catalog:
    from cuvet.catalog.authored.libraries import roles_of  # start: only for libraries

    file = Path(__file__).parent / "generated" / f"{api}.json"
    tables = msgspec.json.decode(file.read_bytes(), type=_Tables)
    parameters = _Parameters(tables.types)
    roles, reasons = roles_of(api, {row.name: parameters[row.signatures[0].parameters] for row in tables.entry_points})
    library = LIBRARIES[api]
    rows = [_row(row, library.status_type, tables, parameters, roles.get(row.name, ())) for row in tables.entry_points]
    return Catalog(
        api,
        Tables(rows),
        roles,
        reasons,
        title=library.title,
        status_type=library.status_type,
        sonames=tables.sonames,
        first=first,
    )


def _row(
    row: _EntryPointRow, status_type: str, tables: _Tables, parameters: _Parameters, roles: tuple[Role, ...]
) -> EntryPointRow:
    returns = row.returns or status_type
    returned = tables.types[returns]
    outputs = {role.parameter for role in roles if role.verb in _WRITTEN and not role.field and not role.count}
    return EntryPointRow(
        name=row.name,
        returns=returns,
        signatures=tuple(
            Signature(
                symbols={
                    symbol: tuple(tables.sonames[int(index)] for index in indexes)
                    for symbol, indexes in signature.symbols.items()
                },
                parameters=parameters.with_outputs(signature.parameters, outputs),
            )
            for signature in row.signatures
        ),
        return_abi=Returned(abi=returned.abi, bytes=returned.bytes, signed=returned.signed, align=returned.align),
    )


class _Parameters(dict[str, tuple[Parameter, ...]]):
    """Parameters by their C text: ``cublasHandle_t handle, int n``."""

    def __init__(self, types: dict[str, _Type]) -> None:
        super().__init__()
        self._each = _Parameter(types)

    def __missing__(self, text: str) -> tuple[Parameter, ...]:
        self[text] = tuple([self._each[part] for part in text.split(", ")]) if text else ()
        return self[text]

    def with_outputs(self, text: str, outputs: set[str]) -> tuple[Parameter, ...]:
        if not outputs:
            return self[text]
        return tuple(replace(each, out=True) if each.name in outputs else each for each in self[text])


class _Parameter(dict[str, Parameter]):
    """One parameter by its C text."""

    def __init__(self, types: dict[str, _Type]) -> None:
        super().__init__()
        self._types = types

    def __missing__(self, text: str) -> Parameter:
        kind, _, name = text.rpartition(" ")
        self[text] = Parameter(name=name, type=kind, **asdict(self._types[kind]))
        return self[text]
