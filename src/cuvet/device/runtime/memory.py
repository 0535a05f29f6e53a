"""Allocation and its companions."""

from functools import partial

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as catalog
from cuvet.device.invocation import read, write, write_word
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import INVALID_VALUE, RuntimeCall, release
from cuvet.device.runtime.device import ensure_context

_PITCH_ELEMENT_BYTES = 4
_HOST, _DEVICE = 1, 2  # CUmemorytype
_TYPE_HOST, _TYPE_DEVICE, _TYPE_MANAGED = 1, 2, 3  # cudaMemoryType
_NO_DEVICE = 0xFFFFFFFE  # -2


def _allocate(call: RuntimeCall, name: str, pointer: str = "devPtr", more: tuple[str, ...] = ()) -> Steps[int]:
    """Call the driver's ``name`` with the words ``more`` behind pointer and size. Allocating nothing gives a null pointer; a null pointer
    for the result is refused before the driver is asked."""
    if not call[pointer]:
        return INVALID_VALUE
    yield from ensure_context(call)
    if not call["size"]:
        yield from write_word(call[pointer], 0)
        return 0
    return (yield from call.driver(name, call[pointer], call["size"], *(call.words.get(word, 0) for word in more)))


cudaMalloc = partial(_allocate, name="cuMemAlloc")
cudaMallocHost = partial(_allocate, name="cuMemHostAlloc", pointer="ptr", more=("flags",))
cudaMallocAsync = partial(_allocate, name="cuMemAllocAsync", more=("hStream",))
cudaMallocFromPoolAsync = partial(_allocate, name="cuMemAllocFromPoolAsync", pointer="ptr", more=("memPool", "stream"))


def cudaMallocManaged(call: RuntimeCall) -> Steps[int]:
    if not call["size"]:
        return INVALID_VALUE
    return (yield from _allocate(call, "cuMemAllocManaged", more=("flags",)))


def cudaMallocPitch(call: RuntimeCall) -> Steps[int]:
    if not call["devPtr"] or not call["pitch"]:
        return INVALID_VALUE
    yield from ensure_context(call)
    words = (call["devPtr"], call["pitch"], call["width"], call["height"], _PITCH_ELEMENT_BYTES)
    return (yield from call.driver("cuMemAllocPitch", *words))


def cudaMalloc3D(call: RuntimeCall) -> Steps[int]:
    """Fills a cudaPitchedPtr: address, pitch, width and height."""
    target = call["pitchedDevPtr"]
    width, height, depth = call.sizes("extent")
    yield from ensure_context(call)
    yield from call.driver("cuMemAllocPitch", target, target + 8, width, height * depth, _PITCH_ELEMENT_BYTES)
    yield from write_word(target + 16, width)
    yield from write_word(target + 24, height)
    return 0


def cudaFreeHost(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    return (yield from call.driver("cuMemFreeHost", call["ptr"]))


def cudaFreeArray(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    if not call["array"]:
        return 0
    return (yield from call.driver("cuArrayDestroy", call["array"]))


def cudaStreamCreate(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    return (yield from call.driver("cuStreamCreate", call["pStream"], 0))


def cudaEventCreate(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    return (yield from call.driver("cuEventCreate", call["event"], 0))


def cudaLaunchHostFunc(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    words = (call["stream"], call["fn"], call["userData"], call.words.get("syncMode", 0))
    return (yield from call.driver("cuLaunchHostFunc", *words))


def _location(call: RuntimeCall) -> int:
    """A CUmemLocation as a word: kind in the low half, device in the high half. Older signatures have the device alone."""
    if "location" in call.structs:
        return int.from_bytes(call.structs["location"], "little")
    device = call.signed(next(name for name in ("dstDevice", "device") if name in call.words))
    kinds = driver_catalog().enumerations["CUmemLocationType"]
    if device < 0:
        return kinds["CU_MEM_LOCATION_TYPE_HOST"]
    return kinds["CU_MEM_LOCATION_TYPE_DEVICE"] | device << 32


def cudaMemPrefetchAsync(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    words = (call["devPtr"], call["count"], _location(call), call.words.get("flags", 0), call["stream"])
    return (yield from call.driver("cuMemPrefetchAsync", *words))


def cudaMemAdvise(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    return (yield from call.driver("cuMemAdvise", call["devPtr"], call["count"], call["advice"], _location(call)))


_ASKED = ("CONTEXT", "MEMORY_TYPE", "DEVICE_POINTER", "HOST_POINTER", "IS_MANAGED", "DEVICE_ORDINAL")


def cudaPointerGetAttributes(call: RuntimeCall) -> Steps[int]:
    if not call["attributes"]:
        return INVALID_VALUE
    yield from ensure_context(call)
    numbers = driver_catalog().enumerations["CUpointer_attribute"]
    attributes = b"".join(numbers[f"CU_POINTER_ATTRIBUTE_{name}"].to_bytes(4, "little") for name in _ASKED)
    values = yield from call.scratch(8 * len(_ASKED))
    targets = b"".join((values + 8 * position).to_bytes(8, "little") for position in range(len(_ASKED)))
    yield from write(values, bytes(8 * len(_ASKED)))
    attributes_at = yield from call.lay_down(attributes)
    targets_at = yield from call.lay_down(targets)
    yield from call.driver("cuPointerGetAttributes", len(_ASKED), attributes_at, targets_at, call["ptr"])
    data = yield from read(values, 8 * len(_ASKED))
    found = {name: int.from_bytes(data[8 * i : 8 * i + 8], "little") for i, name in enumerate(_ASKED)}
    yield from write(call["attributes"], _pointer_attributes(call, found))
    return 0


def _pointer_attributes(call: RuntimeCall, found: dict[str, int]) -> bytes:
    layout = catalog().struct("cudaPointerAttributes", release(call.major))
    kind = {_HOST: _TYPE_HOST, _DEVICE: _TYPE_MANAGED if found["IS_MANAGED"] & 1 else _TYPE_DEVICE}.get(
        found["MEMORY_TYPE"], 0
    )
    values = {
        "type": kind,
        "device": found["DEVICE_ORDINAL"] & 0xFFFFFFFF if kind else _NO_DEVICE,
        "devicePointer": found["DEVICE_POINTER"],
        "hostPointer": found["HOST_POINTER"] if kind else call["ptr"],
    }
    data = bytearray(layout.bytes)
    for name, value in values.items():
        offset, size, _ = layout.fields[name]
        data[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(data)
