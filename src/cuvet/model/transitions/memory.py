"""Device memory by address: allocated, mapped, freed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.naming import member
from cuvet.model.objects import Allocation, MemoryPool
from cuvet.model.transitions.graph import forget_held
from cuvet.model.transitions.object import output, owner, parameter
from cuvet.model.transitions.pool import with_access
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.objects import Object, Stream

STREAM_ORDERED, GRAPH = "stream-ordered", "graph"
_OUTLIVES_CONTEXT = frozenset({STREAM_ORDERED, GRAPH, "imported"})
"""Variants of memory that belong to a pool or a graph."""


@for_role(Verb.ALLOCATES, Kind.MEMORY)
def allocate(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """What is allocated in a capture belongs to the graph: each launch allocates it again, at the same address."""
    address = output(call, outcome, role.parameter)
    if not address:
        return
    stream = model.stream_on(call)
    captured = stream is not None and stream.capture is not None
    variant = GRAPH if captured else role.variant
    parent = owner(model, call, outcome, role) if variant not in _OUTLIVES_CONTEXT else None
    allocation = add(model, call, outcome, address, _size(call, outcome, role), variant, parent, role.parameter)
    if stream is not None and stream.capture is not None:
        allocation.capture = stream.capture
        stream.capture.unfreed.add(allocation)
    if variant == STREAM_ORDERED:
        _order(model, call, allocation, stream)
    model.ledger.begin(allocation, call)


def _order(model: Model, call: Call, allocation: Allocation, stream: Stream | None) -> None:
    """It belongs to the stream's context, and to the device of its pool: the pool that the call names, else the current one of the
    stream's device."""
    allocation.stream = stream
    if stream is not None and stream.context is not None:
        allocation.context, allocation.device = stream.context, stream.context.device
    if "pool" in call.entry_point.index:
        pool = model.object_of(call, call.entry_point.index["pool"], Kind.MEMORY_POOL)
        allocation.device = None if pool is None else pool.device
    else:
        pool = None if allocation.device is None else model.current_pools.get(allocation.device)
    allocation.pool = pool if isinstance(pool, MemoryPool) else None


@for_role(Verb.FREES, Kind.MEMORY)
def free(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """cuMemFree waits for the context's work, but not when the memory is stream-ordered; cuMemFreeAsync is work itself.
    Either takes memory of both kinds. A graph's memory is freed until the next launch only."""
    allocation = model.object_of(call, call.entry_point.index[role.parameter], Kind.MEMORY)
    stream = model.stream_on(call)
    if stream is not None and stream.capture is not None and isinstance(allocation, Allocation):
        stream.capture.unfreed.discard(allocation)
    if not isinstance(allocation, Allocation) or allocation.variant == GRAPH or not allocation.alive:
        if isinstance(allocation, Allocation) and stream is None:
            _free_twice(model, allocation)
        forget_held(model)
        return
    if stream is not None and stream.capture is not None:
        return
    if stream is None and allocation.variant != STREAM_ORDERED:
        model.order.finish_context(allocation.context)
    elif stream is None:
        _endanger(model, allocation)
    allocation.freed_on = stream
    model.end(allocation, call)


def _free_twice(model: Model, freed: Allocation) -> None:
    """What it damages was seen until the process died of it, in waits for other contexts too: it ends with the context at the latest."""
    if freed.freed_on is not None and freed.context is not None and freed.context.alive:
        model.freed_twice_in.add(freed.context)


def _endanger(model: Model, freed: Allocation) -> None:
    """cuMemFree takes the memory from the work that uses it."""
    uses = [use.position for use in freed.uses.values() if use.position is not None]
    unfinished = [position for position in (*model.endangered.items(), *uses) if not model.order.is_done(position)]
    model.endangered = dict(sorted(unfinished))


@instead_of_roles("cuMemMap")
def map_memory(model: Model, call: Call, outcome: Outcome) -> None:
    mapped = add(model, call, outcome, parameter(call, "ptr"), parameter(call, "size"), "mapped", None, "ptr")
    model.ledger.map(mapped, model.object_of(call, call.entry_point.index["handle"], Kind.MEMORY_HANDLE), call)


@after_roles("cuMemSetAccess")
def give_access(model: Model, call: Call, outcome: Outcome) -> None:
    """To all mappings in the range."""
    start, size = parameter(call, "ptr"), parameter(call, "size")
    for mapped in model.overlapping_allocations(start, size):
        if mapped.handle < start or start + size < mapped.end:
            mapped.reached_from = None
        mapped.reached_from = with_access(call, "desc", mapped.reached_from)


@instead_of_roles("cuMemUnmap")
def unmap_memory(model: Model, call: Call, outcome: Outcome) -> None:
    start, size = parameter(call, "ptr"), parameter(call, "size")
    for allocation in model.overlapping_allocations(start, size):
        if allocation.variant == "mapped" and start <= allocation.handle and allocation.end <= start + size:
            model.end(allocation, call)


@instead_of_roles("cuModuleGetGlobal", "cuLibraryGetGlobal", "cuLibraryGetManaged")
def find_global(model: Model, call: Call, outcome: Outcome) -> None:
    """A variable of a module is memory that ends with the module."""
    address = output(call, outcome, "dptr")
    if not address or model.allocations.live_overlapping(address, 1):
        return
    name, kind = ("hmod", Kind.MODULE) if "hmod" in call.entry_point.index else ("library", Kind.CULIBRARY)
    module = model.object_of(call, call.entry_point.index[name], kind)
    add(model, call, outcome, address, output(call, outcome, "bytes") or 0, "global", module, "dptr")


def add(
    model: Model,
    call: Call,
    outcome: Outcome,
    address: int,
    size: int,
    variant: str,
    parent: Object | None,
    parameter: str,
) -> Allocation:
    """A new allocation; what seemed to live there was freed unseen."""
    for stale in model.overlapping_allocations(address, size):
        model.lose(stale)
    allocation = model.create(Allocation, Kind.MEMORY, address, call, outcome, parameter, parent)
    allocation.size, allocation.variant = size, variant
    model.allocations.add(allocation)
    return allocation


def _size(call: Call, outcome: Outcome, role: Role) -> int:
    if call.name == "cuMemAllocPitch":
        return (output(call, outcome, "pPitch") or parameter(call, "WidthInBytes")) * parameter(call, "Height")
    if role.field:
        return member(call, role.parameter, role.field.replace("dptr", "bytesize")) or 0
    written = output(call, outcome, role.size)
    return parameter(call, role.size) if written is None else written
