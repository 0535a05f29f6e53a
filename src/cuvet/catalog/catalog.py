"""Reads the generated tables and joins them with the authored roles."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import msgspec

from cuvet.catalog import authored
from cuvet.catalog.authored.runtime import complete
from cuvet.catalog.hot import is_hot
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.sonames import DRIVER, RUNTIMES

Api = str
"""``driver``, ``runtime`` or a key of ``cuvet.catalog.apis.LIBRARIES``."""
_PER_THREAD = ("_ptsz", "_ptds")


class Parameter(msgspec.Struct, frozen=True, gc=False):
    """One parameter, as the header spells it and as the machine passes it.

    ``abi`` is ``word`` (integer or pointer of ``bytes`` 1, 2, 4 or 8), ``float``, ``double``, ``struct`` (by value: ``bytes``, ``align``;
    its members are integers and pointers only) or ``complex`` (by value, with floating-point members). ``pointee`` is the type pointed at
    and ``pointee_bytes`` its size, 0 if unknown or void. ``out``: one scalar or handle of at most 8 bytes is written through it.
    """

    name: str
    type: str
    abi: Literal["word", "float", "double", "struct", "complex"]
    bytes: int
    signed: bool = False
    align: int = 0
    pointee: str | None = None
    pointee_bytes: int = 0
    const: bool = False
    out: bool = False


class Returned(msgspec.Struct, frozen=True, gc=False):
    """How a value that is not a status is returned: ``bytes`` is 0 for void; a struct of more than 16 bytes is in memory."""

    abi: Literal["word", "float", "double", "struct", "complex", "void"]
    bytes: int
    signed: bool = False
    align: int = 0


class Signature(msgspec.Struct, frozen=True):
    """Parameters that some exported symbols of an entry point share; ``symbols`` maps each to the CUDA releases that have it,
    a library's to the shared objects that export it (``libcublas.so.12``)."""

    symbols: dict[str, tuple[str, ...]]
    parameters: tuple[Parameter, ...]


class Field(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A struct member; the type of an unnamed struct is empty."""

    name: str
    offset: int
    bytes: int
    type: str


class Struct(msgspec.Struct, frozen=True):
    """Layout of a struct or union. Members of unnamed structs and unions stand under dotted names (``res.array.hArray``)."""

    name: str
    bytes: int
    align: int
    members: tuple[Field, ...] = msgspec.field(name="fields")
    versions: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, tuple[int, int, str]]:
        return {member.name: (member.offset, member.bytes, member.type) for member in self.members}


@dataclass(frozen=True, eq=False)
class EntryPoint:
    """One function of CUDA with all its exported symbols.

    ``parameters`` are those of the newest signature; ``variants`` maps the symbols that differ to theirs (a parameter means
    what the one of the same name in ``parameters`` means). ``symbol`` is what the plain name stands for in source code.
    ``hot``: called often and changes no lifetime, so that it need not be stored. ``status``: returns its API's status type.
    ``id`` is its number in recordings (``recorded()``), of the runtime its index. ``wrapped``: the shim sees its calls.
    """

    id: int
    api: Api
    name: str
    symbol: str
    symbols: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    signatures: tuple[Signature, ...]
    index: dict[str, int]
    roles: tuple[Role, ...]
    hot: bool
    status: bool
    returns: str
    return_abi: Returned
    wrapped: bool

    @property
    def variants(self) -> dict[str, tuple[Parameter, ...]]:
        """Of the runtime's symbols that changed their signature between releases, the newest counts."""
        older = {symbol: s.parameters for s in reversed(self.signatures[1:]) for symbol in s.symbols}
        return {symbol: found for symbol, found in older.items() if symbol not in self.signatures[0].symbols}

    @property
    def per_thread_symbols(self) -> tuple[str, ...]:
        """Symbols whose stream 0 is the per-thread default stream."""
        return tuple(symbol for symbol in self.symbols if symbol.endswith(_PER_THREAD))

    def does(self, *verbs: Verb, to: Collection[Kind] | None = None) -> bool:
        """Whether it has a role of one of the verbs, to an object of these kinds (None: of any)."""
        return any(role.verb in verbs and (to is None or role.kind in to) for role in self.roles)

    def signature(self, symbol: str, version: str | None = None) -> Signature | None:
        """Signature of the symbol in that CUDA release (None: the newest that has it); None if there is no such symbol."""
        for found in self.signatures:
            if symbol in found.symbols and (version is None or version in found.symbols[symbol]):
                return found
        return None

    def __repr__(self) -> str:
        return f"<{self.name}>"


class EntryPointRow(msgspec.Struct):
    name: str
    returns: str
    signatures: tuple[Signature, ...]
    plain: str = ""
    return_abi: Returned = Returned(abi="word", bytes=4)


class EnumerationRow(msgspec.Struct):
    name: str
    values: dict[str, int]


class Tables(msgspec.Struct):
    entry_points: list[EntryPointRow]
    versions: tuple[str, ...] = ()
    enumerations: list[EnumerationRow] = []
    structs: list[Struct] = []
    typedefs: dict[str, str] = {}
    constants: dict[str, int] = {}
    introduced: dict[str, int] = {}
    undeclared: tuple[str, ...] = ()


class Catalog:
    """All entry points of one API, in the order of their canonical names.

    ``title`` is what NVIDIA calls the API, ``status_type`` what its entry points return, ``sonames`` the shared objects that have
    them; ``exports`` says which symbols each of a library's has. ``versions`` are the CUDA releases it was generated from
    (of driver and runtime); ``introduced`` is the CUDA version that brought a driver symbol, as cuGetProcAddress counts (12040).
    ``constants`` are integer macros (``CU_STREAM_LEGACY``). ``no_role`` says of each entry point without roles why.
    ``undeclared`` are symbols of libcudart that have no public prototype.
    """

    def __init__(
        self,
        api: Api,
        tables: Tables,
        roles: dict[str, tuple[Role, ...]],
        no_role: dict[str, str],
        *,
        title: str,
        status_type: str,
        sonames: tuple[str, ...],
        first: int = 0,
    ) -> None:
        """``first`` is the id of the first entry point."""
        self.api = api
        self.title = title
        self.status_type = status_type
        self.sonames = sonames
        self.no_role = no_role
        self.versions = tables.versions
        self.introduced = tables.introduced
        self.undeclared = tables.undeclared
        self.entry_points = tuple(
            _entry_point(first + index, api, row, roles.get(row.name, ()), status_type)
            for index, row in enumerate(tables.entry_points)
        )
        self.by_symbol = {symbol: entry for entry in self.entry_points for symbol in entry.symbols}
        self.identity = zlib.crc32("\n".join(entry.name for entry in self.entry_points).encode())
        self.enumerations = {row.name: row.values for row in tables.enumerations}
        self.constants = tables.constants
        self.structs: dict[str, Struct] = {}
        self._older: dict[tuple[str, str], Struct] = {}
        for struct in tables.structs:
            self.structs.setdefault(struct.name, struct)
            for version in struct.versions:
                self._older[struct.name, version] = struct
        self._by_name = {entry.name: entry for entry in self.entry_points}
        self._typedefs = tables.typedefs
        for alias, name in tables.typedefs.items():
            if name in self.structs:
                self.structs.setdefault(alias, self.structs[name])
            elif name in self.enumerations:
                self.enumerations.setdefault(alias, self.enumerations[name])

    def __getitem__(self, name: str) -> EntryPoint:
        return self._by_name[name]

    @cached_property
    def exports(self) -> dict[str, tuple[str, ...]]:
        """Symbols of the entry points that each of a library's shared objects exports, sorted. Not of driver and runtime."""
        found: dict[str, list[str]] = {soname: [] for soname in self.sonames}
        for signature in (signature for entry in self.entry_points for signature in entry.signatures):
            for symbol, sonames in signature.symbols.items():
                for soname in sonames:
                    found[soname].append(symbol)
        return {soname: tuple(sorted(symbols)) for soname, symbols in found.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def struct(self, name: str, version: str | None = None) -> Struct:
        """Layout in that CUDA release; the newest if None. KeyError if there is none."""
        if version is None:
            return self.structs[name]
        return self._older[self._typedefs.get(name, name), version]

    def field(self, struct: str, path: str) -> tuple[int, int, str]:
        """(offset, bytes, type) of a dotted member, also through members that are structs themselves. KeyError if there is none.
        "*" is the whole, a handle of that type."""
        if path == "*":
            return 0, 8, struct
        fields = self.structs[struct].fields
        if path in fields:
            return fields[path]
        for end in (position for position, letter in enumerate(path) if letter == "."):
            outer = fields.get(path[:end])
            if outer and outer[2] in self.structs:
                offset, size, kind = self.field(outer[2], path[end + 1 :])
                return outer[0] + offset, size, kind
        raise KeyError(f"{struct} has no member {path}")

    def pack(
        self, name: str, members: Mapping[str, int | bytes], version: str | None = None, data: bytes = b""
    ) -> bytes:
        """Bytes of the struct, with these members by dotted path (``__`` is a dot, too); the others are as in ``data``, or 0."""
        layout = self.struct(name, version)
        fields, content = layout.fields, bytearray(data.ljust(layout.bytes, b"\0"))
        for path, value in members.items():
            offset, size, _ = fields.get(path) or self.field(name, path.replace("__", "."))
            written = value if isinstance(value, bytes) else (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            content[offset : offset + size] = written[:size].ljust(size, b"\0")
        return bytes(content)

    def member(self, name: str, data: bytes, path: str) -> int:
        """Unsigned member of a struct's bytes. IndexError if they do not reach so far."""
        offset, size, _ = self.field(name, path)
        if offset + size > len(data):
            raise IndexError(path)
        return int.from_bytes(data[offset : offset + size], "little")

    def enumerator(self, enumeration: str, number: int, prefix: str = "") -> str:
        """Name of the enumerator, without the prefix; empty if none has that number."""
        names = (name for name, value in self.enumerations[enumeration].items() if value == number)
        return next(names, "").removeprefix(prefix)


def _entry_point(number: int, api: Api, row: EntryPointRow, roles: tuple[Role, ...], status_type: str) -> EntryPoint:
    newest = row.signatures[0]
    symbols = tuple(dict.fromkeys(symbol for signature in row.signatures for symbol in signature.symbols))
    return EntryPoint(
        id=number,
        api=api,
        name=row.name,
        symbol=row.plain or (row.name if row.name in symbols else symbols[0]),
        symbols=symbols,
        parameters=newest.parameters,
        signatures=row.signatures,
        index={parameter.name: position for position, parameter in enumerate(newest.parameters)},
        roles=roles,
        hot=is_hot(api, row.name, roles),
        status=row.returns == status_type,
        returns=row.returns,
        return_abi=row.return_abi,
        wrapped=api in ("driver", "runtime") or bool(roles),
    )


def _tables(api: Api) -> Tables:
    return msgspec.json.decode((Path(__file__).parent / "generated" / f"{api}.json").read_bytes(), type=Tables)


@cache
def driver() -> Catalog:
    """Catalog of the driver API, libcuda.so.1."""

    return Catalog(
        "driver",
        _tables("driver"),
        authored.ROLES,
        authored.NO_ROLE,
        title="CUDA driver",
        status_type="CUresult",
        sonames=(DRIVER,),
    )


@cache
def runtime() -> Catalog:
    """Catalog of the runtime API, libcudart.so.12 and libcudart.so.13."""

    tables = _tables("runtime")
    ours = {row.name: tuple(p.name for p in row.signatures[0].parameters) for row in tables.entry_points}
    theirs = {entry.name: tuple(entry.index) for entry in driver().entry_points}
    roles, reasons = complete(ours, theirs, authored.ROLES, authored.NO_ROLE)
    return Catalog("runtime", tables, roles, reasons, title="CUDA runtime", status_type="cudaError_t", sonames=RUNTIMES)
