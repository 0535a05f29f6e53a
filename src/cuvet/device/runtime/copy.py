"""Copies and sets."""

from functools import partial

from cuvet.device.invocation import require
from cuvet.device.protocol import Steps
from cuvet.device.runtime.array import array_element_bytes
from cuvet.device.runtime.call import Members, RuntimeCall, error, pack
from cuvet.device.runtime.device import ensure_context, look_up, primary_of
from cuvet.device.runtime.launch import variable

_HOST_TO_HOST, _HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE, _DEFAULT = range(5)
_HOST, _DEVICE, _MEMORY_ARRAY, _UNIFIED = 1, 2, 3, 4  # CUmemorytype
_KINDS = {
    _HOST_TO_HOST: ("cuMemcpy", _HOST, _HOST),
    _HOST_TO_DEVICE: ("cuMemcpyHtoD", _HOST, _DEVICE),
    _DEVICE_TO_HOST: ("cuMemcpyDtoH", _DEVICE, _HOST),
    _DEVICE_TO_DEVICE: ("cuMemcpyDtoD", _DEVICE, _DEVICE),
    _DEFAULT: ("cuMemcpy", _UNIFIED, _UNIFIED),
}
"""The driver's linear copy, and the memory that it is from and to."""
_INVALID_DIRECTION = error("cudaErrorInvalidMemcpyDirection")
_INVALID_PITCH = error("cudaErrorInvalidPitchValue")


def _asynchronous(call: RuntimeCall, name: str, *words: int) -> Steps[None]:
    """Call the driver's ``name``, or its ``nameAsync`` on the stream if the call has one."""
    if "stream" in call.index:
        return call.driver(f"{name}Async", *words, call["stream"])
    return call.driver(name, *words)


def _linear(call: RuntimeCall, to: int, source: int) -> Steps[None]:
    kind, count = call["kind"], call["count"]
    require(kind in _KINDS, _INVALID_DIRECTION)
    name, _, _ = _KINDS[kind]
    yield from ensure_context(call)
    if count:
        yield from _asynchronous(call, name, to, source, count)


def _line(call: RuntimeCall) -> Steps[None]:
    return _linear(call, call["dst"], call["src"])


cudaMemcpy = cudaMemcpyAsync = _line


def _symbol(call: RuntimeCall, to_symbol: bool) -> Steps[None]:
    yield from ensure_context(call)
    address, size = yield from variable(call, call["symbol"])
    require(call["offset"] + call["count"] <= size)
    inside = address + call["offset"]
    yield from _linear(call, inside, call["src"]) if to_symbol else _linear(call, call["dst"], inside)


cudaMemcpyToSymbol = cudaMemcpyToSymbolAsync = partial(_symbol, to_symbol=True)
cudaMemcpyFromSymbol = cudaMemcpyFromSymbolAsync = partial(_symbol, to_symbol=False)


def _peer(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    devices = (call.signed("dstDevice"), call.signed("srcDevice"))
    for device in devices:
        yield from look_up(call, device)
    to = yield from primary_of(call, devices[0])
    source = yield from primary_of(call, devices[1])
    yield from _asynchronous(call, "cuMemcpyPeer", call["dst"], to, call["src"], source, call["count"])


cudaMemcpyPeer = cudaMemcpyPeerAsync = _peer


# Two and three dimensions.


def _side(side: str, kind: int, address: int, pitch: int = 0) -> dict[str, int]:
    """Members of a CUDA_MEMCPY2D or CUDA_MEMCPY3D that say where one side is."""
    _, source, destination = _KINDS[kind]
    memory = destination if side == "dst" else source
    place = "Host" if memory == _HOST else "Device"
    return {f"{side}MemoryType": memory, f"{side}{place}": address, f"{side}Pitch": pitch}


def _array_side(side: str, array: int, x_bytes: int, y: int, z: int = 0) -> dict[str, int]:
    found = {f"{side}MemoryType": _MEMORY_ARRAY, f"{side}Array": array, f"{side}XInBytes": x_bytes, f"{side}Y": y}
    return found | ({f"{side}Z": z} if z else {})


def _rectangle(call: RuntimeCall, *sides: dict[str, int]) -> Steps[None]:
    """Copy ``width`` bytes by ``height`` rows. Asynchronous if the call has a stream."""
    require(call["kind"] in _KINDS, _INVALID_DIRECTION)
    yield from ensure_context(call)
    if not call["width"] or not call["height"]:
        return
    members = {name: value for side in sides for name, value in side.items()}
    data = pack("CUDA_MEMCPY2D", WidthInBytes=call["width"], Height=call["height"], **members)
    described = yield from call.lay_down(data)
    if "stream" in call.index:
        yield from call.driver("cuMemcpy2DAsync", described, call["stream"])
    else:
        yield from call.driver("cuMemcpy2DUnaligned", described)


def _plain_rectangle(call: RuntimeCall) -> Steps[None]:
    require(call["kind"] in _KINDS, _INVALID_DIRECTION)
    require(call["width"] <= min(call["dpitch"], call["spitch"]), _INVALID_PITCH)
    to = _side("dst", call["kind"], call["dst"], call["dpitch"])
    yield from _rectangle(call, to, _side("src", call["kind"], call["src"], call["spitch"]))


cudaMemcpy2D = cudaMemcpy2DAsync = _plain_rectangle


def _rectangle_to_array(call: RuntimeCall) -> Steps[None]:
    to = _array_side("dst", call["dst"], call["wOffset"], call["hOffset"])
    yield from _rectangle(call, to, _side("src", call["kind"], call["src"], call["spitch"]))


cudaMemcpy2DToArray = cudaMemcpy2DToArrayAsync = _rectangle_to_array


def _rectangle_from_array(call: RuntimeCall) -> Steps[None]:
    source = _array_side("src", call["src"], call["wOffset"], call["hOffset"])
    yield from _rectangle(call, _side("dst", call["kind"], call["dst"], call["dpitch"]), source)


cudaMemcpy2DFromArray = cudaMemcpy2DFromArrayAsync = _rectangle_from_array


def cudaMemcpy2DArrayToArray(call: RuntimeCall) -> Steps[None]:
    to = _array_side("dst", call["dst"], call["wOffsetDst"], call["hOffsetDst"])
    yield from _rectangle(call, to, _array_side("src", call["src"], call["wOffsetSrc"], call["hOffsetSrc"]))


def _line_to_array(call: RuntimeCall) -> Steps[None]:
    call.also(width=call["count"], height=1, spitch=call["count"])
    yield from _rectangle_to_array(call)


cudaMemcpyToArray = cudaMemcpyToArrayAsync = _line_to_array


def _line_from_array(call: RuntimeCall) -> Steps[None]:
    call.also(width=call["count"], height=1, dpitch=call["count"])
    yield from _rectangle_from_array(call)


cudaMemcpyFromArray = cudaMemcpyFromArrayAsync = _line_from_array


def box(call: RuntimeCall, given: Members) -> bytes:
    """CUDA_MEMCPY3D of a cudaMemcpy3DParms. Widths are in elements if an array takes part, else in bytes."""
    arrays = [given[f"{side}Array"] for side in ("src", "dst") if given[f"{side}Array"]]
    element = array_element_bytes(call, arrays[0]) if arrays else 1
    members = {
        "WidthInBytes": given["extent.width"] * element,
        "Height": given["extent.height"],
        "Depth": given["extent.depth"],
    }
    for side in ("src", "dst"):
        x, y, z = (given[f"{side}Pos.{axis}"] for axis in "xyz")
        if given[f"{side}Array"]:
            members |= _array_side(side, given[f"{side}Array"], x * element, y, z)
        else:
            members |= _side(side, given["kind"], given[f"{side}Ptr.ptr"], given[f"{side}Ptr.pitch"])
            members |= {f"{side}XInBytes": x, f"{side}Y": y, f"{side}Z": z, f"{side}Height": given[f"{side}Ptr.ysize"]}
    return pack("CUDA_MEMCPY3D", **members)


def _box_copy(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    given = yield from call.struct(call["p"], "cudaMemcpy3DParms")
    require(given["kind"] in _KINDS, _INVALID_DIRECTION)
    yield from _asynchronous(call, "cuMemcpy3D", (yield from call.lay_down(box(call, given))))


cudaMemcpy3D = cudaMemcpy3DAsync = _box_copy


# Sets.


def _memset(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    if call["count"]:
        yield from _asynchronous(call, "cuMemsetD8", call["devPtr"], call["value"] & 0xFF, call["count"])


cudaMemset = cudaMemsetAsync = _memset


def _memset_rows(call: RuntimeCall, address: int, pitch: int, width: int, height: int) -> Steps[None]:
    yield from ensure_context(call)
    if width and height:
        yield from _asynchronous(call, "cuMemsetD2D8", address, pitch, call["value"] & 0xFF, width, height)


def _memset_2d(call: RuntimeCall) -> Steps[None]:
    yield from _memset_rows(call, call["devPtr"], call["pitch"], call["width"], call["height"])


cudaMemset2D = cudaMemset2DAsync = _memset_2d


def _memset_3d(call: RuntimeCall) -> Steps[None]:
    address, pitch, _, rows_per_slice = call.sizes("pitchedDevPtr")
    width, height, depth = call.sizes("extent")
    for number in range(depth):
        yield from _memset_rows(call, address + number * pitch * rows_per_slice, pitch, width, height)


cudaMemset3D = cudaMemset3DAsync = _memset_3d
