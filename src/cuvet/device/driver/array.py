"""Arrays, mipmapped arrays, texture and surface objects."""

from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device.driver.memory import free, reserve
from cuvet.device.invocation import Invocation, do_nothing, require, write
from cuvet.device.process import Array, Mipmap
from cuvet.device.protocol import Steps

_FLAT, _DEEP = "CUDA_ARRAY_DESCRIPTOR", "CUDA_ARRAY3D_DESCRIPTOR"
_ELEMENT_BYTES = {
    "CU_AD_FORMAT_UNSIGNED_INT8": 1, "CU_AD_FORMAT_SIGNED_INT8": 1, "CU_AD_FORMAT_UNSIGNED_INT16": 2,
    "CU_AD_FORMAT_SIGNED_INT16": 2, "CU_AD_FORMAT_HALF": 2, "CU_AD_FORMAT_UNSIGNED_INT32": 4,
    "CU_AD_FORMAT_SIGNED_INT32": 4, "CU_AD_FORMAT_FLOAT": 4,
}  # fmt: skip


def _create(call: Invocation, descriptor: str, deep: bool) -> Steps[None]:
    element = _element(call, descriptor)
    width, height = call.member(descriptor, "Width"), call.member(descriptor, "Height")
    require(element and width)
    depth = call.member(descriptor, "Depth") if deep else 0
    row_bytes = width * element
    address = yield from reserve(call, row_bytes * max(height, 1) * max(depth, 1))
    handle = call.issue("pHandle", Kind.ARRAY)
    call.process.arrays[handle] = Array(address, call.given(descriptor), row_bytes, height, depth)


cuArrayCreate = partial(_create, descriptor="pAllocateArray", deep=False)
cuArray3DCreate = partial(_create, descriptor="pAllocateArray", deep=True)


def _element(call: Invocation, descriptor: str) -> int:
    """Bytes of an element with all its channels; 0 if there are no such arrays."""
    formats = catalog().enumerations["CUarray_format"]
    sizes = {formats[name]: size for name, size in _ELEMENT_BYTES.items()}
    channels = call.member(descriptor, "NumChannels")
    return sizes.get(call.member(descriptor, "Format"), 0) * channels if channels in (1, 2, 4) else 0


def cuArrayDestroy(call: Invocation) -> Steps[None]:
    array = call.known(call.process.arrays, "hArray")
    del call.process.arrays[call["hArray"]]
    yield from free(call, array.address)


def _describe(call: Invocation, wanted: str) -> Steps[None]:
    """CUDA_ARRAY_DESCRIPTOR is CUDA_ARRAY3D_DESCRIPTOR without depth and flags."""
    array = call.known(call.process.arrays, "hArray")
    structs = catalog().structs
    given = _DEEP if len(array.descriptor) == structs[_DEEP].bytes else _FLAT
    names = structs[wanted].fields.keys() & structs[given].fields.keys()
    members = {name: catalog().member(given, array.descriptor, name) for name in names}
    yield from write(call["pArrayDescriptor"], catalog().pack(wanted, members))


cuArrayGetDescriptor = partial(_describe, wanted=_FLAT)
cuArray3DGetDescriptor = partial(_describe, wanted=_DEEP)


def cuMipmappedArrayCreate(call: Invocation) -> None:
    descriptor = "pMipmappedArrayDesc"
    element = _element(call, descriptor)
    require(element and call.member(descriptor, "Width"))
    handle = call.issue("pHandle", Kind.MIPMAPPED_ARRAY)
    call.process.mipmaps[handle] = Mipmap(call.given(descriptor), element)


def cuMipmappedArrayDestroy(call: Invocation) -> Steps[None]:
    mipmap = call.process.mipmaps.pop(call["hMipmappedArray"], None)
    for handle in mipmap.levels.values() if mipmap else ():
        array = call.process.arrays.pop(handle, None)
        if array is not None:
            yield from free(call, array.address)


def cuMipmappedArrayGetLevel(call: Invocation) -> Steps[None]:
    """Each level has half the extents of the one before. Its memory is there when it is first asked for."""
    mipmap, level = call.known(call.process.mipmaps, "hMipmappedArray"), call["level"]
    if level not in mipmap.levels:
        names = ("Width", "Height", "Depth")
        whole = (catalog().member(_DEEP, mipmap.descriptor, name) for name in names)
        width, height, depth = extents = [max(size >> level, min(size, 1)) for size in whole]
        address = yield from reserve(call, width * mipmap.element * max(height, 1) * max(depth, 1))
        mipmap.levels[level] = handle = call.process.handles.issue(Kind.ARRAY)
        data = catalog().pack(_DEEP, dict(zip(names, extents, strict=True)), data=mipmap.descriptor)
        call.process.arrays[handle] = Array(address, data, width * mipmap.element, height, depth)
    call.give("pLevelArray", mipmap.levels[level])


def _remember_resource(call: Invocation, parameter: str, kind: Kind) -> None:
    needed = ("pResDesc", "pTexDesc") if kind is Kind.TEXTURE_OBJECT else ("pResDesc",)
    require(all(call.given(name) for name in needed))
    call.process.resources[kind, call.issue(parameter, kind)] = call.given("pResDesc")


cuTexObjectCreate = partial(_remember_resource, parameter="pTexObject", kind=Kind.TEXTURE_OBJECT)
cuSurfObjectCreate = partial(_remember_resource, parameter="pSurfObject", kind=Kind.SURFACE_OBJECT)
cuTexObjectDestroy = cuSurfObjectDestroy = do_nothing


def _tell_resource(call: Invocation, kind: Kind, parameter: str) -> Steps[None]:
    resource = call.process.resources.get((kind, call[parameter]), b"")
    require(resource)
    yield from write(call["pResDesc"], resource)


cuTexObjectGetResourceDesc = partial(_tell_resource, kind=Kind.TEXTURE_OBJECT, parameter="texObject")
cuSurfObjectGetResourceDesc = partial(_tell_resource, kind=Kind.SURFACE_OBJECT, parameter="surfObject")
