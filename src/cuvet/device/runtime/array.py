"""Arrays, texture and surface objects."""

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as runtime_catalog
from cuvet.device.invocation import BadAddress, read, write
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import INVALID_VALUE, Members, RuntimeCall, error, pack, release
from cuvet.device.runtime.device import ensure_context

_SIGNED, _UNSIGNED, _FLOAT = 0, 1, 2
_FORMATS = {
    (_SIGNED, 8): "SIGNED_INT8", (_SIGNED, 16): "SIGNED_INT16", (_SIGNED, 32): "SIGNED_INT32",
    (_UNSIGNED, 8): "UNSIGNED_INT8", (_UNSIGNED, 16): "UNSIGNED_INT16", (_UNSIGNED, 32): "UNSIGNED_INT32",
    (_FLOAT, 16): "HALF", (_FLOAT, 32): "FLOAT",
}  # fmt: skip
_ARRAY, _MIPMAPPED, _LINEAR, _PITCHED = range(4)


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


def _create(call: RuntimeCall, output: str, extent: tuple[int, ...], name: str, *more: int) -> Steps[int]:
    if not call[output]:
        return INVALID_VALUE
    yield from ensure_context(call)
    found = yield from _described(call)
    if found is None:
        return error("cudaErrorInvalidChannelDescriptor")
    width, height, depth = extent
    data = pack(
        "CUDA_ARRAY3D_DESCRIPTOR",
        Width=width,
        Height=height,
        Depth=depth,
        Format=found[0],
        NumChannels=found[1],
        Flags=call["flags"],
    )
    described = yield from call.lay_down(data)
    return (yield from call.driver(name, call[output], described, *more))


def cudaMallocArray(call: RuntimeCall) -> Steps[int]:
    return (yield from _create(call, "array", (call["width"], call["height"], 0), "cuArray3DCreate"))


def cudaMalloc3DArray(call: RuntimeCall) -> Steps[int]:
    return (yield from _create(call, "array", call.sizes("extent"), "cuArray3DCreate"))


def cudaMallocMipmappedArray(call: RuntimeCall) -> Steps[int]:
    extent = call.sizes("extent")
    return (yield from _create(call, "mipmappedArray", extent, "cuMipmappedArrayCreate", call["numLevels"]))


def array_element_bytes(call: RuntimeCall, handle: int) -> int:
    """Bytes of an array's element. BadAddress if there is no such array."""
    array = call.process.arrays.get(handle)
    if array is None:
        raise BadAddress(hex(handle))
    fields = driver_catalog().structs["CUDA_ARRAY3D_DESCRIPTOR"].fields
    offset, size, _ = fields["Width"]
    return array.width_bytes // int.from_bytes(array.descriptor[offset : offset + size], "little")


def cudaArrayGetInfo(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    layout = driver_catalog().structs["CUDA_ARRAY3D_DESCRIPTOR"]
    described = yield from call.scratch(layout.bytes)
    yield from call.driver("cuArray3DGetDescriptor", described, call["array"])
    data = yield from read(described, layout.bytes)

    def member(name: str) -> int:
        offset, size, _ = layout.fields[name]
        return int.from_bytes(data[offset : offset + size], "little")

    if call["desc"]:
        yield from write(call["desc"], _channels(member("Format"), member("NumChannels")))
    if call["extent"]:
        sizes = (member("Width"), member("Height"), member("Depth"))
        yield from write(call["extent"], b"".join(size.to_bytes(8, "little") for size in sizes))
    if call["flags"]:
        yield from write(call["flags"], member("Flags").to_bytes(4, "little"))
    return 0


def _channels(number: int, channels: int) -> bytes:
    formats = driver_catalog().enumerations["CUarray_format"]
    kind, bits = next(key for key, name in _FORMATS.items() if formats[f"CU_AD_FORMAT_{name}"] == number)
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
    elif kind in (_LINEAR, _PITCHED):
        place = "linear" if kind == _LINEAR else "pitch2D"
        bits = tuple(given[f"res.{place}.desc.{channel}"] for channel in "xyzw")
        found = _format(bits, given[f"res.{place}.desc.f"])
        if found is None:
            raise BadAddress("desc")
        members |= {f"res__{place}__devPtr": given[f"res.{place}.devPtr"]}
        members |= {f"res__{place}__format": found[0], f"res__{place}__numChannels": found[1]}
        sizes = ("sizeInBytes",) if kind == _LINEAR else ("width", "height", "pitchInBytes")
        members |= {f"res__{place}__{size}": given[f"res.{place}.{size}"] for size in sizes}
    return (yield from call.lay_down(pack("CUDA_RESOURCE_DESC", **members)))


def cudaCreateTextureObject(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    if not call["pTexDesc"]:
        return INVALID_VALUE
    resource = yield from _resource(call)
    texture = yield from call.lay_down(pack("CUDA_TEXTURE_DESC"))
    return (yield from call.driver("cuTexObjectCreate", call["pTexObject"], resource, texture, 0))


def cudaCreateSurfaceObject(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    return (yield from call.driver("cuSurfObjectCreate", call["pSurfObject"], (yield from _resource(call))))


def cudaGetTextureObjectResourceDesc(call: RuntimeCall) -> Steps[int]:
    return (yield from _tell_resource(call, "cuTexObjectGetResourceDesc", call["texObject"]))


def cudaGetSurfaceObjectResourceDesc(call: RuntimeCall) -> Steps[int]:
    return (yield from _tell_resource(call, "cuSurfObjectGetResourceDesc", call["surfObject"]))


def _tell_resource(call: RuntimeCall, name: str, handle: int) -> Steps[int]:
    """Write the cudaResourceDesc that says what the driver's CUDA_RESOURCE_DESC does."""
    yield from ensure_context(call)
    size = driver_catalog().structs["CUDA_RESOURCE_DESC"].bytes
    described = yield from call.scratch(size)
    yield from call.driver(name, described, handle)
    given = Members(driver_catalog(), "CUDA_RESOURCE_DESC", (yield from read(described, size)))
    data = bytearray(runtime_catalog().struct("cudaResourceDesc", release(call.major)).bytes)
    for path, value in _runtime_resource(given).items():
        offset, _, _ = runtime_catalog().field("cudaResourceDesc", path)
        data[offset : offset + len(value)] = value
    yield from write(call["pResDesc"], bytes(data))
    return 0


def _runtime_resource(given: Members) -> dict[str, bytes]:
    """Members of the cudaResourceDesc that says what a CUDA_RESOURCE_DESC does, by path."""
    kind = given["resType"]
    members = {"resType": kind.to_bytes(4, "little")}
    if kind == _ARRAY:
        members["res.array.array"] = given["res.array.hArray"].to_bytes(8, "little")
    elif kind == _MIPMAPPED:
        members["res.mipmap.mipmap"] = given["res.mipmap.hMipmappedArray"].to_bytes(8, "little")
    elif kind in (_LINEAR, _PITCHED):
        place = "linear" if kind == _LINEAR else "pitch2D"
        sizes = ("sizeInBytes",) if kind == _LINEAR else ("width", "height", "pitchInBytes")
        members[f"res.{place}.desc"] = _channels(given[f"res.{place}.format"], given[f"res.{place}.numChannels"])
        for name in ("devPtr", *sizes):
            members[f"res.{place}.{name}"] = given[f"res.{place}.{name}"].to_bytes(8, "little")
    return members
