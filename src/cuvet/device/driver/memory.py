"""Allocation of device memory."""

from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import results as status
from cuvet.device.invocation import Invocation, gives, require
from cuvet.device.process import HOST, Pool
from cuvet.device.protocol import Steps

_PITCH = 512


def reserve(call: Invocation, size: int, *, host: bool = False, pinned: bool = False) -> Steps[int]:
    """Address of new memory of the current device, which the host may touch too if ``host``; of the host's own if ``pinned``. Refused if
    there is not that much left."""
    process = call.process
    heap = HOST if pinned else call.current_device()
    require(size <= process.machine.left(heap, process), status.OUT_OF_MEMORY)
    arena = process.host_memory if host or pinned else process.device_memory
    address = yield from arena.allocate(size)
    require(address, status.OUT_OF_MEMORY)
    process.hold(address, size, heap)
    return address


def allocate(call: Invocation, parameter: str, size: int, *, host: bool = False, pinned: bool = False) -> Steps[int]:
    """Reserve memory and give its address through the parameter."""
    require(size and call[parameter])
    address = yield from reserve(call, size, host=host, pinned=pinned)
    call.give(parameter, address)
    return address


def free(call: Invocation, address: int) -> Steps[bool]:
    """False if nothing was allocated there. What a graph allocated is there again when it is launched again."""
    process = call.process
    if address in process.graph_addresses:
        return process.graph_memory.pop(address, None) is not None
    size = process.let_go(address)
    for subject in process.advice.ranges if size else ():
        process.advice.put(subject, address, address + size, None)
    for pool in process.pools.values():
        pool.give_back(address)
    return (yield from process.device_memory.free(address)) or (yield from process.host_memory.free(address))


def free_ended(call: Invocation) -> Steps[None]:
    """Give memory back whose allocation ended with something else: its context, its module."""
    model = call.model
    for address in list(call.process.sizes):
        device, host = model.allocation_at(address), model.host_memory_at(address)
        known = [found for found in (device, host) if found is not None and found.handle == address]
        if known and not any(found.alive for found in known):
            yield from free(call, address)
    for handle, array in list(call.process.arrays.items()):
        made = model.find(Kind.ARRAY, handle)
        if made is not None and not made.alive:
            del call.process.arrays[handle]
            yield from free(call, array.address)


def _allocate(call: Invocation, host: bool) -> Steps[None]:
    yield from allocate(call, "dptr", call["bytesize"], host=host)


cuMemAlloc = partial(_allocate, host=False)
cuMemAllocManaged = partial(_allocate, host=True)


def cuMemAllocPitch(call: Invocation) -> Steps[None]:
    pitch = -(-call["WidthInBytes"] // _PITCH) * _PITCH
    call.give("pPitch", pitch)
    yield from allocate(call, "dptr", pitch * call["Height"])


def cuMemAllocFromPoolAsync(call: Invocation) -> Steps[None]:
    return in_order(call, call["pool"])


def in_order(call: Invocation, pool: int) -> Steps[None]:
    """Stream-ordered memory; of no bytes it is NULL (NVIDIA H200, driver 580.159, CUDA 13.0)."""
    if call["dptr"] and not call["bytesize"]:
        call.give("dptr", 0)
        return
    address = yield from allocate(call, "dptr", call["bytesize"], host=bool(call.get("pool of host memory", pool)))
    call.process.pools.setdefault(pool, Pool()).take(address, call["bytesize"])


def cuMemFree(call: Invocation) -> Steps[None]:
    if call["dptr"]:
        call.process.timeline.finish()
        found = yield from free(call, call["dptr"])
        require(found or _freed_on_stream(call))


def _freed_on_stream(call: Invocation) -> bool:
    """Whether cuMemFreeAsync freed this memory before: that cuMemFree takes it again was measured
    (freeasync_of_malloc_then_free)."""
    last = call.model.allocation_at(call["dptr"])
    return last is not None and last.handle == call["dptr"] and last.freed_on is not None


cuMemGetInfo = gives(
    free=lambda call: call.process.machine.left(call.current_device(), call.process),
    total=lambda call: call.process.machine.memory,
)
