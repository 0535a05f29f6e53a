"""Device memory by address: allocated, mapped, freed; what is there, and of whom it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog import driver
from cuvet.catalog.results import INVALID_CONTEXT, INVALID_VALUE, NOT_FOUND, SUCCESS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import Allocation, MemoryPool
from cuvet.model.touching import life
from cuvet.model.transitions.graph import forget_held
from cuvet.model.transitions.object import output, owner, parameter
from cuvet.model.transitions.pool import with_access
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles, returned_by
from cuvet.model.transitions.stream import touch_in_capture

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.objects import Object, Stream
    from cuvet.model.view import ModelView

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
        touch_in_capture(model, call, stream, stream.capture, (life(allocation, "allocates"),))
    if variant == STREAM_ORDERED:
        _order(model, call, allocation, stream)
    model.ledger.begin(allocation, call)


def _order(model: Model, call: Call, allocation: Allocation, stream: Stream | None) -> None:
    """It belongs to the stream's context, and to the device of its pool: that the call names, or that is current on the stream's device."""
    allocation.stream = stream
    if stream is not None and stream.context is not None:
        allocation.context, allocation.device = stream.context, stream.context.device
    if "pool" in call.entry_point.index:
        pool = model.object_of(call, call.entry_point.index["pool"], Kind.MEMORY_POOL)
        allocation.device = None if pool is None else pool.device
    else:
        pool = model.current_pools.get(allocation.device)
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
    add(model, call, outcome, address, output(call, outcome, "bytes"), "global", module, "dptr")


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
    return output(call, outcome, role.size) or parameter(call, role.size)


@returned_by("cuMemHostGetFlags")
def of_host_flags(model: ModelView, call: Call) -> tuple[int, ...]:
    """Programs ask so whether memory is pinned: "no" is no mistake."""
    found = model.host_memory_at(call.arg("p"))
    return (SUCCESS,) if found is not None and found.alive else (INVALID_VALUE,)


@returned_by("cuMemGetAddressRange")
def of_address_range(model: ModelView, call: Call) -> tuple[int, ...]:
    """Memory that a graph allocates is there from its launch on; freed memory may still be found, and that of another device not."""
    address = call.arg("dptr")
    memory, host = model.allocation_at(address), model.host_memory_at(address)
    if memory is not None and memory.alive and memory.variant == "graph":
        return (NOT_FOUND, SUCCESS)
    if host is not None and host.alive:
        return (SUCCESS,)
    if memory is None:
        return (NOT_FOUND,)
    if not memory.alive:
        return (NOT_FOUND, SUCCESS)
    return (SUCCESS, NOT_FOUND) if memory.device not in (None, model.device_of(call)) else (SUCCESS,)


@returned_by("cuPointerGetAttribute")
def of_pointer(model: ModelView, call: Call) -> tuple[int, ...]:
    """Programs ask so what an address is: that it is nothing of CUDA's is no mistake. What cuMemFreeAsync freed is there for a while."""
    memory, host = model.allocation_at(call.arg("ptr")), model.host_memory_at(call.arg("ptr"))
    attribute, attributes = call.arg("attribute"), driver().enumerations["CUpointer_attribute"]
    if attribute not in attributes.values():
        return (INVALID_VALUE,)
    if host is not None and host.alive:
        return (SUCCESS,)
    if memory is not None and memory.freed_on is not None and memory.variant in ("linear", "pitched"):
        return (INVALID_VALUE, SUCCESS)
    if memory is None or not memory.alive or memory.variant == "graph":
        return (INVALID_VALUE,)
    if attribute == attributes["CU_POINTER_ATTRIBUTE_DEVICE_POINTER"] and memory.variant != "managed":
        return _of_device_pointer(model, call, memory)
    of_host = attribute == attributes["CU_POINTER_ATTRIBUTE_HOST_POINTER"]
    return (INVALID_VALUE,) if of_host and memory.variant != "managed" else (SUCCESS,)


def _of_device_pointer(model: ModelView, call: Call, memory: Allocation) -> tuple[int, ...]:
    """The address "through which ptr may be accessed by kernels running in the current CUcontext" (cuPointerGetAttribute)."""
    context = model.current_context(call)
    if context is None:
        return (SUCCESS, INVALID_CONTEXT)
    if not context.alive:
        return (INVALID_CONTEXT,)
    return (SUCCESS,) if model.reaches(context, memory) else (INVALID_VALUE,)


@returned_by("cuMemGetAccess")
def of_access(model: ModelView, call: Call) -> tuple[int, ...]:
    memory = model.allocation_at(call.arg("ptr"))
    return (SUCCESS,) if memory is not None and memory.alive and memory.variant == "mapped" else (INVALID_VALUE,)


@returned_by("cuPointerGetAttributes")
def of_pointer_attributes(model: ModelView, call: Call) -> tuple[int, ...]:
    known = driver().enumerations["CUpointer_attribute"].values()
    data = call.inputs.get(call.entry_point.index["attributes"], b"")
    asked = (int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4))
    return (SUCCESS,) if all(attribute in known for attribute in asked) else (INVALID_VALUE,)


@returned_by("cuPointerSetAttribute")
def of_memory_attribute(model: ModelView, call: Call) -> tuple[int, ...]:
    memory, context = model.allocation_at(call.arg("ptr")), model.current_context(call)
    if context is not None and not context.alive:
        return (INVALID_VALUE,)
    if memory is None:
        return (SUCCESS,)
    return (SUCCESS,) if memory.alive and memory.variant != "graph" else (SUCCESS, INVALID_VALUE)


@returned_by("cuGraphAddMemFreeNode", "cuMemFree", "cuMemFreeAsync")
def of_free(model: ModelView, call: Call) -> tuple[int, ...]:
    """Memory that a graph allocates is there from a launch on until another launch or the program frees it, which is not followed. Which
    addresses allocation nodes were given is not seen: memory that is not known may be a graph's. cuMemFree takes NULL."""
    memory = model.allocation_at(call.arg("dptr"))
    if memory is None or not memory.alive:
        return (SUCCESS,) if call.name == "cuMemFree" else (SUCCESS, INVALID_VALUE)
    return (SUCCESS, INVALID_VALUE) if memory.variant == "graph" else (SUCCESS,)
