"""Virtual memory management: address ranges, memory handles, and the mapping of one to the other."""

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.invocation import Invocation, Refused, write
from cuvet.device.process import HOST
from cuvet.device.protocol import Steps

GRANULARITY = 2 << 20


def cuMemGetAllocationGranularity(call: Invocation) -> None:
    call.give("granularity", GRANULARITY)


def cuMemAddressReserve(call: Invocation) -> Steps[None]:
    size = call["size"]
    if not size or size % GRANULARITY or call["flags"]:
        raise Refused(status.INVALID_VALUE)
    address = yield from call.process.device_memory.allocate(size)
    if not address:
        raise Refused(status.OUT_OF_MEMORY)
    call.give("ptr", address)


def cuMemAddressFree(call: Invocation) -> Steps[int]:
    freed = yield from call.process.device_memory.free(call["ptr"])
    return status.SUCCESS if freed else status.INVALID_VALUE


def cuMemCreate(call: Invocation) -> None:
    size = call["size"]
    if not size or size % GRANULARITY or call["flags"]:
        raise Refused(status.INVALID_VALUE)
    device = catalog().enumerations["CUmemLocationType"]["CU_MEM_LOCATION_TYPE_DEVICE"]
    heap = call.member("prop", "location.id") if call.member("prop", "location.type") == device else HOST
    if size > call.process.machine.left(heap):
        raise Refused(status.OUT_OF_MEMORY)
    call.process.hold(call.issue("handle", Kind.MEMORY_HANDLE), size, heap)


def cuMemRelease(call: Invocation) -> int:
    handle = call.model.find(Kind.MEMORY_HANDLE, call["handle"])
    if handle is not None and handle.references <= 1:
        _give_back(call, call["handle"])
    return status.SUCCESS if call["handle"] else status.INVALID_VALUE


def _give_back(call: Invocation, handle: int) -> None:
    """Physical memory that was released is held until the last mapping of it ends."""
    mappings = (held for (noun, _, _), held in call.process.attributes.items() if noun == "mapping")
    if handle not in mappings:
        call.process.let_go(handle)


def cuMemMap(call: Invocation) -> None:
    """The range has memory of its own since it was reserved: a handle mapped twice does not share it."""
    if call["ptr"] % GRANULARITY or not call["size"] or call["size"] % GRANULARITY or call["offset"] or call["flags"]:
        raise Refused(status.INVALID_VALUE)
    call.process.attributes["mapping", call["ptr"], 0] = call["handle"]


def cuMemUnmap(call: Invocation) -> int:
    mapped = call.process.attributes.pop(("mapping", call["ptr"], 0), 0)
    handle = call.model.find(Kind.MEMORY_HANDLE, mapped)
    if handle is None or not handle.alive:
        _give_back(call, mapped)
    return status.SUCCESS if mapped and call["size"] else status.INVALID_VALUE


def cuMemRetainAllocationHandle(call: Invocation) -> int:
    handle = call.process.attributes.get(("mapping", call["addr"], 0), 0)
    call.give("handle", handle)
    return status.SUCCESS if handle else status.INVALID_VALUE


def cuMemSetAccess(call: Invocation) -> int:
    return status.SUCCESS if call["ptr"] and call["size"] else status.INVALID_VALUE


def cuMemGetAccess(call: Invocation) -> Steps[None]:
    yield from write(call["flags"], (3).to_bytes(8, "little"))
