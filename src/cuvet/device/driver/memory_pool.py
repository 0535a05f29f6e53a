"""Memory pools of stream-ordered allocation."""

import struct
from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.invocation import Invocation, Refused, do_nothing, read, write_word
from cuvet.device.process import Pool
from cuvet.device.protocol import Steps

_SHORT = {
    "CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES",
    "CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC",
    "CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES",
}
_STATISTICS = {"RESERVED_MEM_CURRENT", "RESERVED_MEM_HIGH", "USED_MEM_CURRENT", "USED_MEM_HIGH"}
_PIECE = 32 << 20
_READ_WRITE = 3
_HOST = -1


def pieces(size: int) -> int:
    """Bytes that are reserved to hold that many: pools and graphs take memory from a device in pieces (NVIDIA H200, driver 580.159,
    CUDA 13.0)."""
    return -(-size // _PIECE) * _PIECE


def _location(name: str) -> int:
    return catalog().enumerations["CUmemLocationType"][f"CU_MEM_LOCATION_TYPE_{name}"]


def cuMemPoolCreate(call: Invocation) -> None:
    managed = catalog().enumerations["CUmemAllocationType"]["CU_MEM_ALLOCATION_TYPE_MANAGED"]
    on_device = call.member("poolProps", "location.type") == _location("DEVICE")
    if on_device and call.member("poolProps", "location.id") >= call.model.devices:
        raise Refused(status.INVALID_VALUE)
    pool = call.issue("pool", Kind.MEMORY_POOL)
    if not on_device or call.member("poolProps", "allocType") == managed:
        call.process.attributes["pool of host memory", pool, 0] = 1


def cuMemPoolDestroy(call: Invocation) -> int:
    return status.SUCCESS if call["pool"] else status.INVALID_VALUE


def default_pool(call: Invocation, device: int) -> int:
    """Handle of the device's default pool; of the host's, if ``device`` is -1."""
    key = ("default pool", device, 0)
    if key not in call.process.attributes:
        pool = call.process.attributes[key] = call.process.handles.issue(Kind.MEMORY_POOL)
        if device == _HOST:
            call.process.attributes["pool of host memory", pool, 0] = 1
    return call.process.attributes[key]


def cuDeviceGetDefaultMemPool(call: Invocation) -> None:
    call.give("pool_out", default_pool(call, call["dev"]))


def current_pool(call: Invocation, device: int) -> int:
    """Handle of the pool that the device's stream-ordered allocations come from."""
    return call.process.attributes.get(("current pool", device, 0)) or default_pool(call, device)


def cuDeviceGetMemPool(call: Invocation) -> None:
    call.give("pool", current_pool(call, call["dev"]))


def cuDeviceSetMemPool(call: Invocation) -> None:
    call.process.attributes["current pool", call["dev"], 0] = call["pool"]


cuMemPoolTrimTo = cuMemPoolSetAccess = do_nothing


def _attribute_bytes(attribute: int) -> int:
    """Size of an attribute's value; 0 if there is no such attribute."""
    for name, number in catalog().enumerations["CUmemPool_attribute"].items():
        if number == attribute:
            return 4 if name in _SHORT else 8
    return 0


def _name(attribute: int) -> str:
    """``USED_MEM_HIGH``, as CUmemPool_attribute has it behind CU_MEMPOOL_ATTR_."""
    names = {number: name for name, number in catalog().enumerations["CUmemPool_attribute"].items()}
    return names[attribute].removeprefix("CU_MEMPOOL_ATTR_")


def cuMemPoolSetAttribute(call: Invocation) -> Steps[None]:
    size = _attribute_bytes(call["attr"])
    if not size:
        raise Refused(status.INVALID_VALUE)
    value = int.from_bytes((yield from read(call["value"], size)), "little")
    name = _name(call["attr"])
    if name not in _STATISTICS:
        call.process.attributes["pool", call["pool"], call["attr"]] = value
    elif value:
        raise Refused(status.INVALID_VALUE)
    elif call["pool"] in call.process.pools:
        call.process.pools[call["pool"]].reset(reserved=name.startswith("RESERVED"))


def cuMemPoolGetAttribute(call: Invocation) -> Steps[None]:
    size = _attribute_bytes(call["attr"])
    if not size:
        raise Refused(status.INVALID_VALUE)
    name = _name(call["attr"])
    if name in _STATISTICS:
        pool = call.process.pools.get(call["pool"], Pool())
        held = pool.high[name.startswith("RESERVED")] if name.endswith("HIGH") else pool.used
        yield from write_word(call["value"], pieces(held) if name.startswith("RESERVED") else held)
        return
    usual = 1 if size == 4 else 0
    yield from write_word(call["value"], call.process.attributes.get(("pool", call["pool"], call["attr"]), usual), size)


def cuMemPoolGetAccess(call: Invocation) -> None:
    call.give("flags", _READ_WRITE)


def _pool_of_location(call: Invocation, output: str) -> Steps[None]:
    """Default pool of a CUmemLocation: a device's, or the host's."""
    kind, ordinal = struct.unpack("<Ii", (yield from read(call["location"], 8)))
    if kind == _location("DEVICE") and not 0 <= ordinal < call.model.devices:
        raise Refused(status.INVALID_DEVICE)
    call.give(output, default_pool(call, ordinal if kind == _location("DEVICE") else _HOST))


cuMemGetDefaultMemPool = partial(_pool_of_location, output="pool_out")
cuMemGetMemPool = partial(_pool_of_location, output="pool")
