"""Virtual memory management: address ranges, memory handles, and the mapping of one to the other."""

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device.invocation import Invocation, do_if, gives, require, write_word
from cuvet.device.process import HOST
from cuvet.device.protocol import Steps

GRANULARITY = 2 << 20
_READ_WRITE = 3


cuMemGetAllocationGranularity = gives(granularity=lambda _: GRANULARITY)
cuMemSetAccess = do_if("ptr", "size")


def cuMemAddressReserve(call: Invocation) -> Steps[None]:
    require(call["size"] and call["size"] % GRANULARITY == 0 and not call["flags"])
    address = yield from call.process.device_memory.allocate(call["size"])
    require(address, status.OUT_OF_MEMORY)
    call.give("ptr", address)


def cuMemAddressFree(call: Invocation) -> Steps[None]:
    require((yield from call.process.device_memory.free(call["ptr"])))


def cuMemCreate(call: Invocation) -> None:
    size = call["size"]
    require(size and size % GRANULARITY == 0 and not call["flags"])
    device = catalog().enumerations["CUmemLocationType"]["CU_MEM_LOCATION_TYPE_DEVICE"]
    heap = call.member("prop", "location.id") if call.member("prop", "location.type") == device else HOST
    require(size <= call.process.machine.left(heap, call.process), status.OUT_OF_MEMORY)
    call.process.hold(call.issue("handle", Kind.MEMORY_HANDLE), size, heap)


def cuMemRelease(call: Invocation) -> None:
    require(call["handle"])
    handle = call.model.find(Kind.MEMORY_HANDLE, call["handle"])
    if handle is not None and handle.references <= 1:
        _give_back(call, call["handle"])


def _give_back(call: Invocation, handle: int) -> None:
    """Physical memory that was released is held until the last mapping of it ends."""
    mappings = (held for (noun, _, _), held in call.process.attributes.items() if noun == "mapping")
    if handle not in mappings:
        call.process.let_go(handle)


def cuMemMap(call: Invocation) -> None:
    """The range has memory of its own since it was reserved: a handle mapped twice does not share it."""
    require(call["ptr"] % GRANULARITY == 0 and call["size"] and call["size"] % GRANULARITY == 0)
    require(not call["offset"] and not call["flags"])
    call.set("mapping", call["ptr"], call["handle"])


def cuMemUnmap(call: Invocation) -> None:
    mapped = call.process.attributes.pop(("mapping", call["ptr"], 0), 0)
    handle = call.model.find(Kind.MEMORY_HANDLE, mapped)
    if handle is None or not handle.alive:
        _give_back(call, mapped)
    require(mapped and call["size"])


def cuMemRetainAllocationHandle(call: Invocation) -> None:
    handle = call.get("mapping", call["addr"])
    require(handle)
    call.give("handle", handle)


def cuMemGetAccess(call: Invocation) -> Steps[None]:
    yield from write_word(call["flags"], _READ_WRITE)
