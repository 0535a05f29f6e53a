"""What the parameters of the libraries' entry points mean, one module per library.

Most of it follows from types and names (``_derived``). Each module has ``HANDLES``, the types of its objects; ``ROLES`` of the entry
points where more is to be said; ``NO_ROLE``, which lists others by the reason why they have none; ``UNTRACKED``, types of objects that
are not followed, with the reason, which is also that of the calls that are about them; ``WORKSPACES``, names of parameters.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.authored.words import *
from cuvet.catalog.catalog import Parameter
from cuvet.catalog.roles import Kind, Role, Verb


class Authored(Protocol):
    """What a module of a library has."""

    HANDLES: dict[str, Kind]
    WORKSPACES: frozenset[str]
    UNTRACKED: Reasons
    ROLES: Roles
    NO_ROLE: ByReason


TABLES: dict[str, Authored] = {api: cast(Authored, import_module(f"{__name__}.{api}")) for api in LIBRARIES}

_BY_VALUE = "takes a complex number by value, which the shim cannot pass on"
CUDA_HANDLES = {"cudaEvent_t": EVENT, "cudaGraph_t": GRAPH}

_uses = cache(uses)


def roles_of(api: str, entry_points: Mapping[str, tuple[Parameter, ...]]) -> tuple[Roles, Reasons]:
    """Roles and reasons of a library's entry points, which map to their parameters."""
    table = TABLES[api]
    roles, reasons = dict(table.ROLES), by_name(table.NO_ROLE)
    for name, parameters in entry_points.items():
        if name in roles or name in reasons:
            continue
        if any(parameter.abi == "complex" for parameter in parameters):
            reasons[name] = _BY_VALUE
        elif found := tuple(_derived(table.HANDLES, table.WORKSPACES, name, parameters)):
            roles[name] = found
        elif reason := _reason(table.UNTRACKED, parameters):
            reasons[name] = reason
    return roles, reasons


def _reason(untracked: Reasons, parameters: tuple[Parameter, ...]) -> str:
    """Why a call that is about an object which is not followed has no roles; empty if it is about none."""
    types = (kind for parameter in parameters for kind in (parameter.type, parameter.pointee or ""))
    return next((untracked[kind] for kind in types if kind in untracked), "")


def _derived(
    handles: Mapping[str, Kind], workspaces: frozenset[str], name: str, parameters: tuple[Parameter, ...]
) -> Iterator[Role]:
    """Roles that types and names tell. Only of the object that a call is about, its first, is it known that it must not be null;
    a plan of cuFFT is a number, and no document says that 0 is none."""
    first = next((parameter.name for parameter in parameters if parameter.type in handles), "")
    for parameter in parameters:
        kind = handles.get(parameter.type)
        if kind and parameter.name == first and "destroy" in name.lower():
            yield destroys(kind, parameter.name, null=True)
        elif kind:
            yield _uses(kind, parameter.name, null=parameter.name != first or kind is Kind.CUFFT_PLAN)
        elif parameter.pointee in handles and parameter.type == f"{parameter.pointee} *":
            word = creates if "create" in name.lower() else returns
            yield word(handles[parameter.type.removesuffix(" *")], parameter.name)
        elif parameter.type == "cudaStream_t":
            yield sets_stream(parameter.name, of=first) if "SetStream" in name else on(parameter.name)
        elif parameter.type == "cudaStream_t *":
            yield returns(STREAM, parameter.name)
        elif parameter.type in CUDA_HANDLES:
            yield uses(CUDA_HANDLES[parameter.type], parameter.name, null=True)
        elif parameter.name in workspaces and parameter.pointee and not name.endswith("Host"):
            verb = Verb.READS if parameter.const else Verb.WRITES
            yield Role(verb, parameter.name, MEMORY, null=True, variant="workspace")
