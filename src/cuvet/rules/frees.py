"""What the address given to cuMemFree, cuMemFreeAsync or cuMemFreeHost is: exactly one case applies."""

from enum import Enum
from typing import NamedTuple

from cuvet.model import Allocation, Call, HostMemory, ModelView, Object
from cuvet.model.accesses import array_at

ENTRY_POINTS = frozenset({"cuMemFree", "cuMemFreeAsync", "cuMemFreeHost"})


class Case(Enum):
    RIGHT = "the start of living memory that this function frees"
    WRONG_FUNCTION = "living memory that another function frees"
    INTERIOR = "inside memory, alive or freed, but not its start"
    TWICE = "the start of memory that was freed before"
    CONTEXT_GONE = "memory that ended with its context"
    UNKNOWN = "nothing that CUDA allocated"


class Freed(NamedTuple):
    case: Case
    argument: int
    address: int
    object: Object | None = None


UNMANAGEABLE = frozenset({"mapped", "ipc", "global"})
"""Variants of device memory that no free function takes."""


def freed(call: Call, model: ModelView) -> Freed:
    """What the free call is given. NULL is RIGHT: freeing it does nothing."""
    argument = call.entry_point.index["p" if call.name == "cuMemFreeHost" else "dptr"]
    address = call.args[argument]
    if address == 0:
        return Freed(Case.RIGHT, argument, address)
    memory, pinned = model.allocation_at(address), model.host_memory_at(address)
    if pinned is not None and pinned.registered and not pinned.alive:
        pinned = None
    host = call.name == "cuMemFreeHost"
    own, other = (pinned, memory) if host else (memory, pinned)
    case, found = _case(call, model, own, other, address)
    return Freed(case, argument, address, found)


def _case(
    call: Call,
    model: ModelView,
    own: Allocation | HostMemory | None,
    other: Allocation | HostMemory | None,
    address: int,
) -> tuple[Case, Object | None]:
    if own is not None and own.alive:
        if _other_function(call, own):
            return Case.WRONG_FUNCTION, own
        return (Case.RIGHT if own.handle == address else Case.INTERIOR), own
    if other is not None and other.alive:
        return Case.WRONG_FUNCTION, other
    array = array_at(model, address) if call.name != "cuMemFreeHost" else None
    if array is not None:
        return Case.WRONG_FUNCTION, array
    dead = own if own is not None else other
    if dead is None or dead.destroyed_by is None:
        return Case.UNKNOWN, None
    if dead.killed_by is not None:
        return Case.CONTEXT_GONE, dead
    return (Case.TWICE if dead.handle == address else Case.INTERIOR), dead


def _other_function(call: Call, own: Allocation | HostMemory) -> bool:
    variant = getattr(own, "variant", "")
    if call.name == "cuMemFreeHost":
        return bool(getattr(own, "registered", False))
    return variant in UNMANAGEABLE or (call.name == "cuMemFreeAsync" and variant == "managed")
