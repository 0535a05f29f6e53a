"""Allocation of device memory."""

from cuvet.catalog import Kind
from cuvet.device import status
from cuvet.device.invocation import Invocation
from cuvet.device.process import HOST, Pool
from cuvet.device.protocol import Steps

_PITCH = 512


def reserve(call: Invocation, size: int, *, host: bool = False, pinned: bool = False) -> Steps[int]:
    """Address of new memory of the current device, which the host may touch too if ``host``; of the host's own if ``pinned``. 0 if
    there is not that much left."""
    process = call.process
    heap = HOST if pinned else call.current_device()
    if size > process.machine.left(heap):
        return 0
    arena = process.host_memory if host or pinned else process.device_memory
    address = yield from arena.allocate(size)
    if address:
        process.hold(address, size, heap)
    return address


def allocate(call: Invocation, parameter: str, size: int, *, host: bool = False, pinned: bool = False) -> Steps[int]:
    """Reserve memory and give its address through the parameter."""
    if size == 0 or not call[parameter]:
        return status.INVALID_VALUE
    address = yield from reserve(call, size, host=host, pinned=pinned)
    if not address:
        return status.OUT_OF_MEMORY
    call.give(parameter, address)
    return status.SUCCESS


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


def cuMemAlloc(call: Invocation) -> Steps[int]:
    return (yield from allocate(call, "dptr", call["bytesize"]))


def cuMemAllocPitch(call: Invocation) -> Steps[int]:
    pitch = -(-call["WidthInBytes"] // _PITCH) * _PITCH
    call.give("pPitch", pitch)
    return (yield from allocate(call, "dptr", pitch * call["Height"]))


def cuMemAllocManaged(call: Invocation) -> Steps[int]:
    return (yield from allocate(call, "dptr", call["bytesize"], host=True))


def cuMemAllocFromPoolAsync(call: Invocation) -> Steps[int]:
    return (yield from in_order(call, call["pool"]))


def in_order(call: Invocation, pool: int) -> Steps[int]:
    """Stream-ordered memory; of no bytes it is NULL (NVIDIA H200, driver 580.159, CUDA 13.0)."""
    process = call.process
    if call["dptr"] and not call["bytesize"]:
        call.give("dptr", 0)
        return status.SUCCESS
    host = ("pool of host memory", pool, 0) in process.attributes
    result = yield from allocate(call, "dptr", call["bytesize"], host=host)
    if result == status.SUCCESS:
        process.pools.setdefault(pool, Pool()).take(call.outputs[call.entry_point.index["dptr"]], call["bytesize"])
    return result


def cuMemFree(call: Invocation) -> Steps[int]:
    if not call["dptr"]:
        return status.SUCCESS
    call.process.timeline.finish()
    found = yield from free(call, call["dptr"])
    return status.SUCCESS if found or _freed_on_stream(call) else status.INVALID_VALUE


def _freed_on_stream(call: Invocation) -> bool:
    """Whether cuMemFreeAsync freed this memory before: that cuMemFree takes it again was measured
    (freeasync_of_malloc_then_free)."""
    last = call.model.allocation_at(call["dptr"])
    return last is not None and last.handle == call["dptr"] and last.freed_on is not None


def cuMemGetInfo(call: Invocation) -> None:
    machine = call.process.machine
    call.give("free", machine.left(call.current_device()))
    call.give("total", machine.memory)
