"""Arrays, texture and surface objects."""

from functools import partial

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as runtime_catalog
from cuvet.device.invocation import BadAddress, Refused, read, require, write, write_word
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import Members, RuntimeCall, error, pack, release
from cuvet.device.runtime.device import ensure_context

_SIGNED, _UNSIGNED, _FLOAT = 0, 1, 2
_FORMATS = {
    (_SIGNED, 8): "SIGNED_INT8", (_SIGNED, 16): "SIGNED_INT16", (_SIGNED, 32): "SIGNED_INT32",
    (_UNSIGNED, 8): "UNSIGNED_INT8", (_UNSIGNED, 16): "UNSIGNED_INT16", (_UNSIGNED, 32): "UNSIGNED_INT32",
    (_FLOAT, 16): "HALF", (_FLOAT, 32): "FLOAT",
}  # fmt: skip
_ARRAY, _MIPMAPPED, _LINEAR, _PITCHED = range(4)
_PLACES = {_LINEAR: ("linear", "sizeInBytes"), _PITCHED: ("pitch2D", "width", "height", "pitchInBytes")}
"""Members of the struct of a resource in linear memory: its name, and what its size is."""
_DESCRIPTOR = "CUDA_ARRAY3D_DESCRIPTOR"


def _format(bits: tuple[int, ...], kind: int) -> tuple[int, int] | None:
    """(CUarray_format, channels) of a cudaChannelFormatDesc; None if there is no such format."""
    name = _FORMATS.get((kind, bits[0]))
    channels = sum(1 for width in bits if width)
    if name is None or any(width not in (0, bits[0]) for width in bits):
        return None
    return driver_catalog().enumerations["CUarray_format"][f"CU_AD_FORMAT_{name}"], channels


def _described(call: RuntimeCall) -> Steps[tuple[int, int] | None]:
    given = yield from call.struct(call["desc"], "cudaChannelFormatDesc")
    return _format(tuple(given[channel] for channel in "xyzw"), given["f"])


def _create(call: RuntimeCall, output: str = "array", name: str = "cuArray3DCreate") -> Steps[None]:
    require(call[output])
    yield from ensure_context(call)
    found = yield from _described(call)
    if found is None:
        raise Refused(error("cudaErrorInvalidChannelDescriptor"))
    width, height, depth = call.sizes("extent") if "extent" in call.structs else (call["width"], call["height"], 0)
    data = pack(
        _DESCRIPTOR, Width=width, Height=height, Depth=depth, Format=found[0], NumChannels=found[1], Flags=call["flags"]
    )
    described = yield from call.lay_down(data)
    levels = [call["numLevels"]] if "numLevels" in call.index else []
    yield from call.driver(name, call[output], described, *levels)


cudaMallocArray = cudaMalloc3DArray = _create
cudaMallocMipmappedArray = partial(_create, output="mipmappedArray", name="cuMipmappedArrayCreate")


def array_element_bytes(call: RuntimeCall, handle: int) -> int:
    """Bytes of an array's element. BadAddress if there is no such array."""
    array = call.process.arrays.get(handle)
    if array is None:
        raise BadAddress(hex(handle))
    return array.width_bytes // driver_catalog().member(_DESCRIPTOR, array.descriptor, "Width")


def cudaArrayGetInfo(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    size = driver_catalog().structs[_DESCRIPTOR].bytes
    described = yield from call.scratch(size)
    yield from call.driver("cuArray3DGetDescriptor", described, call["array"])
    found = Members(driver_catalog(), _DESCRIPTOR, (yield from read(described, size)))
    if call["desc"]:
        yield from write(call["desc"], _channels(found["Format"], found["NumChannels"]))
    if call["extent"]:
        sizes = (found["Width"], found["Height"], found["Depth"])
        yield from write(call["extent"], b"".join(size.to_bytes(8, "little") for size in sizes))
    if call["flags"]:
        yield from write_word(call["flags"], found["Flags"], 4)


def _channels(number: int, channels: int) -> bytes:
    found = driver_catalog().enumerator("CUarray_format", number, "CU_AD_FORMAT_")
    kind, bits = next(key for key, name in _FORMATS.items() if name == found)
    widths = [bits if position < channels else 0 for position in range(4)]
    return b"".join(value.to_bytes(4, "little") for value in (*widths, kind))


def _resource(call: RuntimeCall) -> Steps[int]:
    """Address of the CUDA_RESOURCE_DESC that says what the cudaResourceDesc does."""
    given = yield from call.struct(call["pResDesc"], "cudaResourceDesc")
    kind = given["resType"]
    members = {"resType": kind}
    if kind == _ARRAY:
        members["res__array__hArray"] = given["res.array.array"]
    elif kind == _MIPMAPPED:
        members["res__mipmap__hMipmappedArray"] = given["res.mipmap.mipmap"]
    elif kind in _PLACES:
        place, *sizes = _PLACES[kind]
        bits = tuple(given[f"res.{place}.desc.{channel}"] for channel in "xyzw")
        found = _format(bits, given[f"res.{place}.desc.f"])
        if found is None:
            raise BadAddress("desc")
        members |= {f"res__{place}__format": found[0], f"res__{place}__numChannels": found[1]}
        members |= {f"res__{place}__{name}": given[f"res.{place}.{name}"] for name in ("devPtr", *sizes)}
    return (yield from call.lay_down(pack("CUDA_RESOURCE_DESC", **members)))


def cudaCreateTextureObject(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    require(call["pTexDesc"])
    resource = yield from _resource(call)
    texture = yield from call.lay_down(pack("CUDA_TEXTURE_DESC"))
    yield from call.driver("cuTexObjectCreate", call["pTexObject"], resource, texture, 0)


def cudaCreateSurfaceObject(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    yield from call.driver("cuSurfObjectCreate", call["pSurfObject"], (yield from _resource(call)))


def _tell_resource(call: RuntimeCall, name: str, handle: str) -> Steps[None]:
    """Write the cudaResourceDesc that says what the driver's CUDA_RESOURCE_DESC does."""
    yield from ensure_context(call)
    size = driver_catalog().structs["CUDA_RESOURCE_DESC"].bytes
    described = yield from call.scratch(size)
    yield from call.driver(name, described, call[handle])
    given = Members(driver_catalog(), "CUDA_RESOURCE_DESC", (yield from read(described, size)))
    data = runtime_catalog().pack("cudaResourceDesc", _runtime_resource(given), release(call.major))
    yield from write(call["pResDesc"], data)


cudaGetTextureObjectResourceDesc = partial(_tell_resource, name="cuTexObjectGetResourceDesc", handle="texObject")
cudaGetSurfaceObjectResourceDesc = partial(_tell_resource, name="cuSurfObjectGetResourceDesc", handle="surfObject")


def _runtime_resource(given: Members) -> dict[str, int | bytes]:
    """Members of the cudaResourceDesc that says what a CUDA_RESOURCE_DESC does, by path."""
    kind = given["resType"]
    members: dict[str, int | bytes] = {"resType": kind}
    if kind == _ARRAY:
        members["res.array.array"] = given["res.array.hArray"]
    elif kind == _MIPMAPPED:
        members["res.mipmap.mipmap"] = given["res.mipmap.hMipmappedArray"]
    elif kind in _PLACES:
        place, *sizes = _PLACES[kind]
        members[f"res.{place}.desc"] = _channels(given[f"res.{place}.format"], given[f"res.{place}.numChannels"])
        members |= {f"res.{place}.{name}": given[f"res.{place}.{name}"] for name in ("devPtr", *sizes)}
    return members
