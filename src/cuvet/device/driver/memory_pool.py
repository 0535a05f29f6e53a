"""Memory pools of stream-ordered allocation."""

import struct
from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device.invocation import Invocation, do_if, do_nothing, gives, read, read_words, require, write_word
from cuvet.device.process import Pool
from cuvet.device.protocol import Steps

_SHORT = {"REUSE_FOLLOW_EVENT_DEPENDENCIES", "REUSE_ALLOW_OPPORTUNISTIC", "REUSE_ALLOW_INTERNAL_DEPENDENCIES"}
_STATISTICS = {"RESERVED_MEM_CURRENT", "RESERVED_MEM_HIGH", "USED_MEM_CURRENT", "USED_MEM_HIGH"}
_PIECE = 32 << 20
_READ_WRITE = 3
_HOST = -1


def pieces(size: int) -> int:
    """Bytes that are reserved to hold that many: pools and graphs take memory in pieces (NVIDIA H200, driver 580.159, CUDA 13.0)."""
    return -(-size // _PIECE) * _PIECE


def _location(name: str) -> int:
    return catalog().enumerations["CUmemLocationType"][f"CU_MEM_LOCATION_TYPE_{name}"]


def cuMemPoolCreate(call: Invocation) -> None:
    managed = catalog().enumerations["CUmemAllocationType"]["CU_MEM_ALLOCATION_TYPE_MANAGED"]
    on_device = call.member("poolProps", "location.type") == _location("DEVICE")
    require(not on_device or call.member("poolProps", "location.id") < call.model.devices)
    pool = call.issue("pool", Kind.MEMORY_POOL)
    call.set("pool of host memory", pool, not on_device or call.member("poolProps", "allocType") == managed)


def default_pool(call: Invocation, device: int) -> int:
    """Handle of the device's default pool; of the host's, if ``device`` is -1."""
    pool = call.handle_of("default pool", device, Kind.MEMORY_POOL)
    call.set("pool of host memory", pool, device == _HOST)
    return pool


def current_pool(call: Invocation, device: int) -> int:
    """Handle of the pool that the device's stream-ordered allocations come from."""
    return call.get("current pool", device) or default_pool(call, device)


def cuDeviceSetMemPool(call: Invocation) -> None:
    call.set("current pool", call["dev"], call["pool"])


cuDeviceGetDefaultMemPool = gives(pool_out=lambda call: default_pool(call, call["dev"]))
cuDeviceGetMemPool = gives(pool=lambda call: current_pool(call, call["dev"]))
cuMemPoolGetAccess = gives(flags=lambda _: _READ_WRITE)
cuMemPoolDestroy = do_if("pool")
cuMemPoolTrimTo = cuMemPoolSetAccess = do_nothing


def _attribute(call: Invocation) -> tuple[str, int]:
    """The attribute that the call is about, as CUmemPool_attribute names it, and the size of its value. Refused if there is none."""
    name = catalog().enumerator("CUmemPool_attribute", call["attr"], "CU_MEMPOOL_ATTR_")
    require(name)
    return name, 4 if name in _SHORT else 8


def cuMemPoolSetAttribute(call: Invocation) -> Steps[None]:
    name, size = _attribute(call)
    (value,) = yield from read_words(call["value"], 1, size)
    if name not in _STATISTICS:
        call.set("pool", call["pool"], value, call["attr"])
        return
    require(not value)
    if call["pool"] in call.process.pools:
        call.process.pools[call["pool"]].reset(reserved=name.startswith("RESERVED"))


def cuMemPoolGetAttribute(call: Invocation) -> Steps[None]:
    name, size = _attribute(call)
    reserved = name.startswith("RESERVED")
    value = call.get("pool", call["pool"], call["attr"], usual=int(name in _SHORT))
    if name in _STATISTICS:
        pool = call.process.pools.get(call["pool"], Pool())
        held = pool.high[reserved] if name.endswith("HIGH") else pool.used
        value = pieces(held) if reserved else held
    yield from write_word(call["value"], value, size)


def _pool_of_location(call: Invocation, output: str) -> Steps[None]:
    """Default pool of a CUmemLocation: a device's, or the host's."""
    kind, ordinal = struct.unpack("<Ii", (yield from read(call["location"], 8)))
    on_device = kind == _location("DEVICE")
    require(not on_device or 0 <= ordinal < call.model.devices, status.INVALID_DEVICE)
    call.give(output, default_pool(call, ordinal if on_device else _HOST))


cuMemGetDefaultMemPool = partial(_pool_of_location, output="pool_out")
cuMemGetMemPool = partial(_pool_of_location, output="pool")
