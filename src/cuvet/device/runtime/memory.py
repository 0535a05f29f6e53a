"""Allocation and its companions."""

from functools import partial

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as catalog
from cuvet.device.invocation import read_words, require, write, write_word
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import RuntimeCall, release
from cuvet.device.runtime.device import ensure_context

_PITCH_ELEMENT_BYTES = 4
_HOST, _DEVICE = 1, 2  # CUmemorytype
_TYPE_HOST, _TYPE_DEVICE, _TYPE_MANAGED = 1, 2, 3  # cudaMemoryType
_NO_DEVICE = -2


def _allocate(call: RuntimeCall, name: str, pointer: str = "devPtr", more: tuple[str, ...] = ()) -> Steps[None]:
    """Call the driver's ``name`` with the words ``more`` behind pointer and size. Allocating nothing gives a null pointer; a null pointer
    for the result is refused before the driver is asked."""
    require(call[pointer])
    yield from ensure_context(call)
    if call["size"]:
        yield from call.driver(name, call[pointer], call["size"], *[call.get(word) for word in more])
    else:
        yield from write_word(call[pointer], 0)


cudaMalloc = partial(_allocate, name="cuMemAlloc")
cudaMallocHost = partial(_allocate, name="cuMemHostAlloc", pointer="ptr", more=("flags",))
cudaMallocAsync = partial(_allocate, name="cuMemAllocAsync", more=("hStream",))
cudaMallocFromPoolAsync = partial(_allocate, name="cuMemAllocFromPoolAsync", pointer="ptr", more=("memPool", "stream"))


def cudaMallocManaged(call: RuntimeCall) -> Steps[None]:
    require(call["size"])
    yield from _allocate(call, "cuMemAllocManaged", more=("flags",))


def cudaMallocPitch(call: RuntimeCall) -> Steps[None]:
    require(call["devPtr"] and call["pitch"])
    yield from ensure_context(call)
    words = (call["devPtr"], call["pitch"], call["width"], call["height"], _PITCH_ELEMENT_BYTES)
    yield from call.driver("cuMemAllocPitch", *words)


def cudaMalloc3D(call: RuntimeCall) -> Steps[None]:
    """Fills a cudaPitchedPtr: address, pitch, width and height."""
    target = call["pitchedDevPtr"]
    width, height, depth = call.sizes("extent")
    yield from ensure_context(call)
    yield from call.driver("cuMemAllocPitch", target, target + 8, width, height * depth, _PITCH_ELEMENT_BYTES)
    yield from write_word(target + 16, width)
    yield from write_word(target + 24, height)


def cudaFreeArray(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    if call["array"]:
        yield from call.driver("cuArrayDestroy", call["array"])


def _location(call: RuntimeCall) -> int:
    """A CUmemLocation as a word: kind in the low half, device in the high half. Older signatures have the device alone."""
    if "location" in call.structs:
        return int.from_bytes(call.structs["location"], "little")
    device = call.signed(next(name for name in ("dstDevice", "device") if name in call.index))
    kinds = driver_catalog().enumerations["CUmemLocationType"]
    if device < 0:
        return kinds["CU_MEM_LOCATION_TYPE_HOST"]
    return kinds["CU_MEM_LOCATION_TYPE_DEVICE"] | device << 32


def cudaMemPrefetchAsync(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    words = (call["devPtr"], call["count"], _location(call), call.get("flags"), call["stream"])
    yield from call.driver("cuMemPrefetchAsync", *words)


def cudaMemAdvise(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    yield from call.driver("cuMemAdvise", call["devPtr"], call["count"], call["advice"], _location(call))


_ASKED = ("CONTEXT", "MEMORY_TYPE", "DEVICE_POINTER", "HOST_POINTER", "IS_MANAGED", "DEVICE_ORDINAL")


def cudaPointerGetAttributes(call: RuntimeCall) -> Steps[None]:
    require(call["attributes"])
    yield from ensure_context(call)
    numbers = driver_catalog().enumerations["CUpointer_attribute"]
    attributes = b"".join(numbers[f"CU_POINTER_ATTRIBUTE_{name}"].to_bytes(4, "little") for name in _ASKED)
    values = yield from call.lay_down(bytes(8 * len(_ASKED)))
    targets = b"".join((values + 8 * position).to_bytes(8, "little") for position in range(len(_ASKED)))
    attributes_at = yield from call.lay_down(attributes)
    targets_at = yield from call.lay_down(targets)
    yield from call.driver("cuPointerGetAttributes", len(_ASKED), attributes_at, targets_at, call["ptr"])
    found = dict(zip(_ASKED, (yield from read_words(values, len(_ASKED))), strict=True))
    yield from write(call["attributes"], _pointer_attributes(call, found))


def _pointer_attributes(call: RuntimeCall, found: dict[str, int]) -> bytes:
    on_device = _TYPE_MANAGED if found["IS_MANAGED"] & 1 else _TYPE_DEVICE
    kind = {_HOST: _TYPE_HOST, _DEVICE: on_device}.get(found["MEMORY_TYPE"], 0)
    values = {
        "type": kind,
        "device": found["DEVICE_ORDINAL"] if kind else _NO_DEVICE,
        "devicePointer": found["DEVICE_POINTER"],
        "hostPointer": found["HOST_POINTER"] if kind else call["ptr"],
    }
    return catalog().pack("cudaPointerAttributes", values, release(call.major))
