"""Arrays, mipmapped arrays, texture and surface objects."""

from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.driver.memory import free, reserve
from cuvet.device.invocation import Invocation, Refused, do_nothing, write
from cuvet.device.process import Array, Mipmap
from cuvet.device.protocol import Steps

_ELEMENT_BYTES = {
    "CU_AD_FORMAT_UNSIGNED_INT8": 1, "CU_AD_FORMAT_SIGNED_INT8": 1, "CU_AD_FORMAT_UNSIGNED_INT16": 2,
    "CU_AD_FORMAT_SIGNED_INT16": 2, "CU_AD_FORMAT_HALF": 2, "CU_AD_FORMAT_UNSIGNED_INT32": 4,
    "CU_AD_FORMAT_SIGNED_INT32": 4, "CU_AD_FORMAT_FLOAT": 4,
}  # fmt: skip


def _create(call: Invocation, descriptor: str, deep: bool) -> Steps[None]:
    element = _element(call, descriptor)
    width, height = call.member(descriptor, "Width"), call.member(descriptor, "Height")
    if not element or not width:
        raise Refused(status.INVALID_VALUE)
    depth = call.member(descriptor, "Depth") if deep else 0
    row_bytes = width * element
    address = yield from reserve(call, row_bytes * max(height, 1) * max(depth, 1))
    if not address:
        raise Refused(status.OUT_OF_MEMORY)
    data = call.call.inputs[call.entry_point.index[descriptor]]
    handle = call.issue("pHandle", Kind.ARRAY)
    call.process.arrays[handle] = Array(address, data, row_bytes, height, depth)


cuArrayCreate = partial(_create, descriptor="pAllocateArray", deep=False)
cuArray3DCreate = partial(_create, descriptor="pAllocateArray", deep=True)


def _element(call: Invocation, descriptor: str) -> int:
    """Bytes of an element with all its channels; 0 if there are no such arrays."""
    formats = catalog().enumerations["CUarray_format"]
    sizes = {formats[name]: size for name, size in _ELEMENT_BYTES.items()}
    channels = call.member(descriptor, "NumChannels")
    return sizes.get(call.member(descriptor, "Format"), 0) * channels if channels in (1, 2, 4) else 0


def cuArrayDestroy(call: Invocation) -> Steps[None]:
    array = call.process.arrays.pop(call["hArray"], None)
    if array is None:
        raise Refused(status.INVALID_HANDLE)
    yield from free(call, array.address)


def _describe(call: Invocation, wanted: str) -> Steps[None]:
    """CUDA_ARRAY_DESCRIPTOR is CUDA_ARRAY3D_DESCRIPTOR without depth and flags."""
    array = call.known(call.process.arrays, "hArray")
    structs = catalog().structs
    deep = structs["CUDA_ARRAY3D_DESCRIPTOR"]
    given = deep if len(array.descriptor) == deep.bytes else structs["CUDA_ARRAY_DESCRIPTOR"]
    data = bytearray(structs[wanted].bytes)
    for name, (offset, size, _) in structs[wanted].fields.items():
        if name in given.fields:
            start = given.fields[name][0]
            data[offset : offset + size] = array.descriptor[start : start + size]
    yield from write(call["pArrayDescriptor"], bytes(data))


cuArrayGetDescriptor = partial(_describe, wanted="CUDA_ARRAY_DESCRIPTOR")
cuArray3DGetDescriptor = partial(_describe, wanted="CUDA_ARRAY3D_DESCRIPTOR")


def cuMipmappedArrayCreate(call: Invocation) -> None:
    descriptor = "pMipmappedArrayDesc"
    element = _element(call, descriptor)
    if not element or not call.member(descriptor, "Width"):
        raise Refused(status.INVALID_VALUE)
    data = call.call.inputs[call.entry_point.index[descriptor]]
    call.process.mipmaps[call.issue("pHandle", Kind.MIPMAPPED_ARRAY)] = Mipmap(data, element)


def cuMipmappedArrayDestroy(call: Invocation) -> Steps[None]:
    mipmap = call.process.mipmaps.pop(call["hMipmappedArray"], None)
    for handle in mipmap.levels.values() if mipmap else ():
        array = call.process.arrays.pop(handle, None)
        if array is not None:
            yield from free(call, array.address)


def cuMipmappedArrayGetLevel(call: Invocation) -> Steps[None]:
    """Each level has half the extents of the one before. Its memory is there when it is first asked for."""
    mipmap, level = call.process.mipmaps.get(call["hMipmappedArray"]), call["level"]
    if mipmap is None:
        raise Refused(status.INVALID_HANDLE)
    if level not in mipmap.levels:
        data, extents = bytearray(mipmap.descriptor), dict[str, int]()
        for name in ("Width", "Height", "Depth"):
            offset, size, _ = catalog().structs["CUDA_ARRAY3D_DESCRIPTOR"].fields[name]
            whole = int.from_bytes(data[offset : offset + size], "little")
            extents[name] = max(whole >> level, min(whole, 1))
            data[offset : offset + size] = extents[name].to_bytes(size, "little")
        row_bytes = extents["Width"] * mipmap.element
        address = yield from reserve(call, row_bytes * max(extents["Height"], 1) * max(extents["Depth"], 1))
        if not address:
            raise Refused(status.OUT_OF_MEMORY)
        mipmap.levels[level] = handle = call.process.handles.issue(Kind.ARRAY)
        call.process.arrays[handle] = Array(address, bytes(data), row_bytes, extents["Height"], extents["Depth"])
    call.give("pLevelArray", mipmap.levels[level])


def cuTexObjectCreate(call: Invocation) -> None:
    call.member("pResDesc", "resType")
    call.member("pTexDesc", "flags")
    _remember_resource(call, "pTexObject", Kind.TEXTURE_OBJECT)


cuTexObjectDestroy = cuSurfObjectDestroy = do_nothing


def cuSurfObjectCreate(call: Invocation) -> None:
    call.member("pResDesc", "resType")
    _remember_resource(call, "pSurfObject", Kind.SURFACE_OBJECT)


def _remember_resource(call: Invocation, parameter: str, kind: Kind) -> None:
    handle = call.issue(parameter, kind)
    call.process.resources[kind, handle] = call.call.inputs[call.entry_point.index["pResDesc"]]


def _tell_resource(call: Invocation, kind: Kind, parameter: str) -> Steps[None]:
    resource = call.process.resources.get((kind, call[parameter]))
    if resource is None:
        raise Refused(status.INVALID_VALUE)
    yield from write(call["pResDesc"], resource)


cuTexObjectGetResourceDesc = partial(_tell_resource, kind=Kind.TEXTURE_OBJECT, parameter="texObject")
cuSurfObjectGetResourceDesc = partial(_tell_resource, kind=Kind.SURFACE_OBJECT, parameter="surfObject")
