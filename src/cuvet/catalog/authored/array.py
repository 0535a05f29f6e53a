"""Arrays, texture and surface objects and references, tensor maps."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.roles import Role

_ARRAY, _MIPMAPPED_ARRAY, _LINEAR, _PITCH2D = range(4)
"""CUresourcetype"""


def _resource(parameter: str) -> tuple[Role, ...]:
    """CUDA_RESOURCE_DESC: its type says which member of the union holds the resource."""
    return (
        uses(ARRAY, parameter, field="res.array.hArray", when="resType", values=(_ARRAY,)),
        uses(
            MIPMAPPED_ARRAY, parameter, field="res.mipmap.hMipmappedArray", when="resType", values=(_MIPMAPPED_ARRAY,)
        ),
        uses(MEMORY, parameter, field="res.linear.devPtr", when="resType", values=(_LINEAR,)),
        uses(MEMORY, parameter, field="res.pitch2D.devPtr", when="resType", values=(_PITCH2D,)),
    )


_REFERENCE = uses(TEXTURE_REFERENCE, "hTexRef")

ROLES: Roles = {
    **alike("cuArrayCreate cuArray3DCreate", creates(ARRAY, "pHandle")),
    "cuArrayDestroy": (destroys(ARRAY, "hArray"),),
    **alike("cuArrayGetDescriptor cuArray3DGetDescriptor", uses(ARRAY, "hArray")),
    **alike("cuArrayGetMemoryRequirements cuArrayGetSparseProperties", uses(ARRAY, "array")),
    "cuArrayGetPlane": (uses(ARRAY, "hArray"), returns(ARRAY, "pPlaneArray", parent="hArray")),
    "cuMipmappedArrayCreate": (creates(MIPMAPPED_ARRAY, "pHandle"),),
    "cuMipmappedArrayDestroy": (destroys(MIPMAPPED_ARRAY, "hMipmappedArray"),),
    "cuMipmappedArrayGetLevel": (
        uses(MIPMAPPED_ARRAY, "hMipmappedArray"),
        returns(ARRAY, "pLevelArray", parent="hMipmappedArray"),
    ),
    "cuMipmappedArrayGetMemoryRequirements": (uses(MIPMAPPED_ARRAY, "mipmap"),),
    "cuMipmappedArrayGetSparseProperties": (uses(MIPMAPPED_ARRAY, "mipmap"),),
    # Objects
    "cuTexObjectCreate": (*_resource("pResDesc"), creates(TEXTURE_OBJECT, "pTexObject")),
    "cuTexObjectDestroy": (destroys(TEXTURE_OBJECT, "texObject", null=True),),
    "cuTexObjectGetResourceDesc": (uses(TEXTURE_OBJECT, "texObject"),),
    "cuTexObjectGetResourceViewDesc": (uses(TEXTURE_OBJECT, "texObject"),),
    "cuTexObjectGetTextureDesc": (uses(TEXTURE_OBJECT, "texObject"),),
    "cuSurfObjectCreate": (*_resource("pResDesc"), creates(SURFACE_OBJECT, "pSurfObject")),
    "cuSurfObjectDestroy": (destroys(SURFACE_OBJECT, "surfObject", null=True),),
    "cuSurfObjectGetResourceDesc": (uses(SURFACE_OBJECT, "surfObject"),),
    # References
    "cuModuleGetTexRef": (uses(MODULE, "hmod"), returns(TEXTURE_REFERENCE, "pTexRef", parent="hmod")),
    "cuModuleGetSurfRef": (uses(MODULE, "hmod"), returns(SURFACE_REFERENCE, "pSurfRef", parent="hmod")),
    "cuTexRefCreate": (creates(TEXTURE_REFERENCE, "pTexRef"),),
    "cuTexRefDestroy": (destroys(TEXTURE_REFERENCE, "hTexRef"),),
    "cuTexRefSetAddress": (_REFERENCE, uses(MEMORY, "dptr", size="bytes", null=True)),
    "cuTexRefSetAddress2D": (_REFERENCE, uses(MEMORY, "dptr", null=True)),
    "cuTexRefSetArray": (_REFERENCE, uses(ARRAY, "hArray", null=True)),
    "cuTexRefSetMipmappedArray": (_REFERENCE, uses(MIPMAPPED_ARRAY, "hMipmappedArray", null=True)),
    "cuTexRefGetArray": (_REFERENCE, returns(ARRAY, "phArray")),
    "cuTexRefGetMipmappedArray": (_REFERENCE, returns(MIPMAPPED_ARRAY, "phMipmappedArray")),
    **alike(
        """
        cuTexRefGetAddress cuTexRefGetAddressMode cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags
        cuTexRefGetFormat cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias
        cuTexRefGetMipmapLevelClamp cuTexRefSetAddressMode cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags
        cuTexRefSetFormat cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias
        cuTexRefSetMipmapLevelClamp
        """,
        _REFERENCE,
    ),
    "cuSurfRefSetArray": (uses(SURFACE_REFERENCE, "hSurfRef"), uses(ARRAY, "hArray")),
    "cuSurfRefGetArray": (uses(SURFACE_REFERENCE, "hSurfRef"), returns(ARRAY, "phArray")),
}


NO_ROLE: ByReason = {
    "writes a description of memory that exists or will exist: names no object": """
        cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide cuTensorMapEncodeTiled cuTensorMapReplaceAddress
        cuTensorMapSetAllocationClass
    """
}
