"""Why a host registration or unregistration is refused: at most one case applies, so that each call breaks one rule."""

from enum import Enum
from typing import ClassVar, NamedTuple

from cuvet.catalog.results import INVALID_VALUE, OUT_OF_MEMORY
from cuvet.catalog.roles import Kind
from cuvet.model import Call, HostMemory, ModelView, Object
from cuvet.rules.lifecycle import by_reset, chain, place
from cuvet.rules.mappings import first_hole, mappings, touching
from cuvet.rules.rule import CallRule, Violations

READ_ONLY = 8
"""CU_MEMHOSTREGISTER_READ_ONLY"""
IO_MEMORY = 4
"""CU_MEMHOSTREGISTER_IOMEMORY"""
FLAGS = 15
"""All flags of cuMemHostRegister."""
TOO_LARGE = 1 << 39
"""Bytes that one registration cannot have, nor more."""


ORDINARY = """
## ordinary host memory
note: memory of malloc can be registered
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
"""
UNALIGNED = """
## neither start nor size aligned
note: registrations need no alignment
buffer = cu.host(1 << 20)
cu.cuMemHostRegister(buffer + 3, 1001, 0)
cu.cuMemHostUnregister(buffer + 3)
"""
"""Programs that several of the rules allow."""


class Case(Enum):
    NULL = "null"
    SIZE_ZERO = "size zero"
    BAD_FLAGS = "bad flags"
    TOO_LARGE = "too large"
    PINNED = "pinned already"
    REGISTERED = "registered already"
    UNMAPPED_SINCE = "registered already, and unmapped since"
    DEVICE = "device memory"
    UNMAPPED = "not mapped"
    READ_ONLY = "mapped read-only"
    FILE = "mapping of a file"
    NEVER = "never registered"
    INTERIOR = "inside a registered range"
    UNREGISTERED = "unregistered already"
    CONTEXT_GONE = "registration ended with its context"


class Refusal(NamedTuple):
    """``parameter`` is at fault. ``undefined``: the driver may also do something else than ``outcomes``."""

    case: Case
    message: str
    parameter: str = "p"
    object: Object | None = None
    because: tuple[str, ...] = ()
    outcomes: tuple[int, ...] = (1,)
    undefined: bool = False


class RegistrationRule(CallRule):
    """A rule about calls of cuMemHostRegister or cuMemHostUnregister that are refused for one reason."""

    case: ClassVar[Case]
    entry_points = frozenset({"cuMemHostRegister"})

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        refusal = refused(call, model)
        if refusal is None or refusal.case is not cls.case:
            return
        yield cls.refused(
            refusal.message,
            refusal.object,
            argument=call.index(refusal.parameter),
            because=refusal.because,
            outcomes=refusal.outcomes,
            undefined=refusal.undefined,
        )


def refused(call: Call, model: ModelView) -> Refusal | None:
    """Why the driver refuses the call; None if no reason is known."""
    if call.name == "cuMemHostUnregister":
        return _unregistration(call, model)
    return _arguments(call) or _overlap(call, model) or _mapping(call)


def _arguments(call: Call) -> Refusal | None:
    address, size, flags = call.arg("p"), call.arg("bytesize"), call.arg("Flags")
    if address == 0:
        return Refusal(Case.NULL, "the address is NULL")
    if size == 0:
        return Refusal(Case.SIZE_ZERO, f"registration of zero bytes at {address:#x}", "bytesize")
    if flags & ~FLAGS:
        return Refusal(Case.BAD_FLAGS, f"{flags:#x} has bits that are no flags of a registration", "Flags")
    if address + size > 1 << 64:
        return Refusal(
            Case.UNMAPPED, f"{size} bytes from {address:#x} on reach past the end of the address space", "bytesize"
        )
    if size >= TOO_LARGE:
        message = f"{size:,} bytes in one registration, which takes less than {TOO_LARGE:,}"
        return Refusal(Case.TOO_LARGE, message, "bytesize", outcomes=(OUT_OF_MEMORY, INVALID_VALUE))
    return None


def _overlap(call: Call, model: ModelView) -> Refusal | None:
    address, size = call.arg("p"), call.arg("bytesize")
    for held in model.overlapping_host_memory(address, size):
        if not held.registered:
            return Refusal(Case.PINNED, f"{held.name} was allocated as pinned memory", object=held)
        return _registered(call, held)
    for memory in model.overlapping_allocations(address, size):
        kind = "managed" if memory.variant == "managed" else "device"
        return Refusal(Case.DEVICE, f"{memory.name} is {kind} memory", object=memory)
    return None


def _registered(call: Call, held: HostMemory) -> Refusal:
    """The range overlaps ``held``, which is registered; perhaps part of that was unmapped since."""
    address, size = call.arg("p"), call.arg("bytesize")
    because = _registered_by(held)
    unmapped = unmapped_since(call, held)
    if unmapped:
        message = f"{held.name} was unmapped while it was registered, and its addresses are registered again"
        return Refusal(Case.UNMAPPED_SINCE, message, object=held, because=unmapped, outcomes=(712,))
    if address == held.handle and size == held.size:
        message = f"{held.name} is registered already"
    else:
        message = (
            f"{size} bytes from {address:#x} on overlap {held.name}, which is registered already "
            f"({held.size} bytes from {held.handle:#x} on)"
        )
    return Refusal(Case.REGISTERED, message, object=held, because=because, outcomes=(712,))


def unmapped_since(call: Call, held: HostMemory) -> tuple[str, ...]:
    """What shows that registered memory is not all mapped any more; empty if it is, or if nobody looked."""
    found = mappings(call.maps)
    hole = first_hole(found, held.handle, held.end) if found and found[-1].end >= held.end else None
    if hole is None:
        return ()
    return (*_registered_by(held), f"{hole:#x}, which belongs to {held.name}, is not mapped now")


def _registered_by(held: HostMemory) -> tuple[str, ...]:
    return () if held.created_by is None else (f"{held.name} was registered by {place(held.created_by)}",)


def _mapping(call: Call) -> Refusal | None:
    address, size, flags = call.arg("p"), call.arg("bytesize"), call.arg("Flags")
    found = mappings(call.maps)
    if not found:
        return None
    end = address + size
    touched = touching(found, address, end)
    hole = first_hole(found, address, end)
    if hole is not None:
        what = (
            f"{address:#x} is not mapped"
            if hole == address
            else f"{size} bytes from {address:#x} on reach past their mapping, which ends at {hole:#x}"
        )
        return Refusal(Case.UNMAPPED, what, "p" if hole == address else "bytesize")
    lines = tuple(f"/proc/self/maps: {m.start:#x}-{m.end:#x} {m.access} {m.path}".rstrip() for m in touched)
    if any(not mapping.readable for mapping in touched):
        return Refusal(Case.UNMAPPED, f"{address:#x} is mapped without access", because=lines)
    if flags & IO_MEMORY and not any(mapping.device for mapping in touched):
        return Refusal(
            Case.BAD_FLAGS, f"{address:#x} is ordinary memory, not memory of a device", "Flags", because=lines
        )
    if not flags & READ_ONLY and any(not mapping.writable for mapping in touched):
        return Refusal(Case.READ_ONLY, f"{address:#x} is mapped read-only", "Flags", because=lines)
    if any(mapping.device for mapping in touched):
        return Refusal(
            Case.FILE, f"{address:#x} is a mapping of a device file", because=lines, outcomes=(), undefined=True
        )
    if not flags & READ_ONLY and any(mapping.shared and mapping.file for mapping in touched):
        return Refusal(Case.FILE, f"{address:#x} is a shared mapping of a file", because=lines, undefined=True)
    return None


def _unregistration(call: Call, model: ModelView) -> Refusal | None:
    address = call.arg("p")
    if address == 0:
        return Refusal(Case.NEVER, "the address is NULL")
    held = model.host_memory_at(address)
    if held is None or (not held.alive and (held.destroyed_by is None or not held.registered)):
        memory = model.allocation_at(address)
        if memory is not None and memory.alive:
            return Refusal(Case.NEVER, f"{memory.name} is device memory, which is not registered", object=memory)
        freed = held is not None and held.destroyed_by is not None
        return _never_registered(call, model, outcomes=(713, 1) if freed else (713,))
    if held.alive and not held.registered:
        return Refusal(Case.PINNED, f"{held.name} was allocated as pinned memory, not registered", object=held)
    if held.alive:
        at = address - held.handle
        return Refusal(Case.INTERIOR, f"{address:#x} is {at} bytes into {held.name}", object=held) if at else None
    if held.killed_by is not None:
        if held.destroyed_by is not None and by_reset(held.destroyed_by):
            return None
        message = f"the registration of {held.name} ended with {held.killed_by.name}"
        return Refusal(Case.CONTEXT_GONE, message, object=held, because=chain(held), outcomes=(713,), undefined=True)
    if held.handle != address:
        return _never_registered(call, model, outcomes=(713,))
    by = () if held.destroyed_by is None else (f"{held.name} was unregistered by {place(held.destroyed_by)}",)
    return Refusal(Case.UNREGISTERED, f"{held.name} was already unregistered", object=held, because=by, outcomes=(713,))


def _never_registered(call: Call, model: ModelView, outcomes: tuple[int, ...]) -> Refusal:
    """Memory that moved, as a vector that grows does, was registered at its old addresses: those are not mapped any more."""
    message = f"{call.arg('p'):#x} was never registered"
    living = [held for held in model.objects(Kind.HOST_MEMORY) if isinstance(held, HostMemory) and held.registered]
    found = mappings(call.maps)
    for held in reversed(living):
        known = bool(found) and found[0].start <= held.handle
        unmapped = unmapped_since(call, held) if known else ()
        if unmapped:
            message += (
                f"; {held.name}, {held.size} bytes from {held.handle:#x} on, is registered, and was unmapped since"
            )
            return Refusal(Case.NEVER, message, object=held, because=unmapped, outcomes=outcomes)
    if len(living) == 1:
        (held,) = living
        what = f"the only registration is {held.name}, {held.size} bytes from {held.handle:#x} on"
        return Refusal(Case.NEVER, message, object=held, because=(what,), outcomes=outcomes)
    return Refusal(Case.NEVER, message, outcomes=outcomes)
