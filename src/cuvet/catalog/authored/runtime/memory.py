"""Allocations, copies and sets, arrays, texture and surface objects of the runtime API.

Where the driver has one entry point for host and one for device memory, the runtime has one with a cudaMemcpyKind, or
finds out from the address: variant ``unified``.
"""

from cuvet.catalog.authored.words import *
from cuvet.catalog.roles import Role


def _resource(parameter: str) -> tuple[Role, ...]:
    """cudaResourceDesc: its type says which member of the union holds the resource."""
    return (
        uses(ARRAY, parameter, field="res.array.array", when="resType", values=(0,)),
        uses(MIPMAPPED_ARRAY, parameter, field="res.mipmap.mipmap", when="resType", values=(1,)),
        uses(MEMORY, parameter, field="res.linear.devPtr", when="resType", values=(2,)),
        uses(MEMORY, parameter, field="res.pitch2D.devPtr", when="resType", values=(3,)),
    )


_SOURCE = reads("src", size="count", variant="unified")
_DESTINATION = writes("dst", size="count", variant="unified")
_FROM_ARRAY = uses(ARRAY, "src")
_TO_ARRAY = uses(ARRAY, "dst")
_SOURCE_2D = reads("src", variant="pitched")
_DESTINATION_2D = writes("dst", variant="pitched")
_COPY_3D = (
    uses(ARRAY, "p", field="srcArray", null=True),
    reads("p", field="srcPtr.ptr", variant="unified"),
    uses(ARRAY, "p", field="dstArray", null=True),
    writes("p", field="dstPtr.ptr", variant="unified"),
)

ROLES: Roles = {
    # Allocations
    "cudaMalloc": (allocates("devPtr", size="size"),),
    "cudaMallocPitch": (allocates("devPtr", variant="pitched"),),
    "cudaMalloc3D": (allocates("pitchedDevPtr", field="ptr", variant="pitched"),),
    "cudaMallocManaged": (allocates("devPtr", size="size", variant="managed"),),
    "cudaMallocAsync": (on("hStream"), allocates("devPtr", size="size", variant="stream-ordered")),
    "cudaMallocFromPoolAsync": (
        uses(MEMORY_POOL, "memPool"),
        on("stream"),
        allocates("ptr", size="size", variant="stream-ordered"),
    ),
    "cudaFree": (frees("devPtr"),),
    "cudaFreeAsync": (on("hStream"), frees("devPtr", variant="stream-ordered")),
    "cudaMallocHost": (allocates("ptr", size="size", kind=HOST_MEMORY),),
    "cudaHostAlloc": (allocates("pHost", size="size", kind=HOST_MEMORY),),
    "cudaFreeHost": (frees("ptr", kind=HOST_MEMORY),),
    "cudaHostRegister": (registers("ptr", size="size"),),
    "cudaHostUnregister": (unregisters("ptr"),),
    "cudaHostGetDevicePointer": (uses(HOST_MEMORY, "pHost"),),
    "cudaGLMapBufferObject": (returns(MEMORY, "devPtr", variant="graphics"),),
    "cudaGLMapBufferObjectAsync": (on("stream"), returns(MEMORY, "devPtr", variant="graphics")),
    # Arrays, textures, surfaces
    **alike("cudaMallocArray cudaMalloc3DArray", creates(ARRAY, "array")),
    "cudaFreeArray": (destroys(ARRAY, "array", null=True),),
    **alike("cudaArrayGetInfo cudaGetChannelDesc", uses(ARRAY, "array")),
    "cudaMallocMipmappedArray": (creates(MIPMAPPED_ARRAY, "mipmappedArray"),),
    "cudaFreeMipmappedArray": (destroys(MIPMAPPED_ARRAY, "mipmappedArray", null=True),),
    "cudaGetMipmappedArrayLevel": (
        uses(MIPMAPPED_ARRAY, "mipmappedArray"),
        returns(ARRAY, "levelArray", parent="mipmappedArray"),
    ),
    "cudaCreateTextureObject": (*_resource("pResDesc"), creates(TEXTURE_OBJECT, "pTexObject")),
    "cudaDestroyTextureObject": (destroys(TEXTURE_OBJECT, "texObject", null=True),),
    "cudaGetTextureObjectResourceDesc": (uses(TEXTURE_OBJECT, "texObject"),),
    "cudaGetTextureObjectResourceViewDesc": (uses(TEXTURE_OBJECT, "texObject"),),
    "cudaGetTextureObjectTextureDesc": (uses(TEXTURE_OBJECT, "texObject"),),
    "cudaCreateSurfaceObject": (*_resource("pResDesc"), creates(SURFACE_OBJECT, "pSurfObject")),
    "cudaDestroySurfaceObject": (destroys(SURFACE_OBJECT, "surfObject", null=True),),
    "cudaGetSurfaceObjectResourceDesc": (uses(SURFACE_OBJECT, "surfObject"),),
    # Copies and sets
    "cudaMemcpy": (_DESTINATION, _SOURCE),
    "cudaMemcpyAsync": (_DESTINATION, _SOURCE, on("stream")),
    "cudaMemcpyPeer": (_DESTINATION, _SOURCE),
    "cudaMemcpyPeerAsync": (_DESTINATION, _SOURCE, on("stream")),
    "cudaMemcpy2D": (_DESTINATION_2D, _SOURCE_2D),
    "cudaMemcpy2DAsync": (_DESTINATION_2D, _SOURCE_2D, on("stream")),
    "cudaMemcpyToArray": (_TO_ARRAY, _SOURCE),
    "cudaMemcpyToArrayAsync": (_TO_ARRAY, _SOURCE, on("stream")),
    "cudaMemcpyFromArray": (_DESTINATION, _FROM_ARRAY),
    "cudaMemcpyFromArrayAsync": (_DESTINATION, _FROM_ARRAY, on("stream")),
    "cudaMemcpyArrayToArray": (_TO_ARRAY, _FROM_ARRAY),
    "cudaMemcpy2DToArray": (_TO_ARRAY, _SOURCE_2D),
    "cudaMemcpy2DToArrayAsync": (_TO_ARRAY, _SOURCE_2D, on("stream")),
    "cudaMemcpy2DFromArray": (_DESTINATION_2D, _FROM_ARRAY),
    "cudaMemcpy2DFromArrayAsync": (_DESTINATION_2D, _FROM_ARRAY, on("stream")),
    "cudaMemcpy2DArrayToArray": (_TO_ARRAY, _FROM_ARRAY),
    "cudaMemcpyToSymbol": (_SOURCE,),
    "cudaMemcpyToSymbolAsync": (_SOURCE, on("stream")),
    "cudaMemcpyFromSymbol": (_DESTINATION,),
    "cudaMemcpyFromSymbolAsync": (_DESTINATION, on("stream")),
    "cudaMemcpy3D": _COPY_3D,
    "cudaMemcpy3DAsync": (*_COPY_3D, on("stream")),
    "cudaMemcpy3DPeer": _COPY_3D,
    "cudaMemcpy3DPeerAsync": (*_COPY_3D, on("stream")),
    "cudaMemset": (writes("devPtr", size="count"),),
    "cudaMemsetAsync": (writes("devPtr", size="count"), on("stream")),
    "cudaMemset2D": (writes("devPtr", variant="pitched"),),
    "cudaMemset2DAsync": (writes("devPtr", variant="pitched"), on("stream")),
    "cudaMemset3DAsync": (on("stream"),),
}

NO_ROLE: ByReason = {
    "fills a struct: names no object": "cudaCreateChannelDesc",
    "asks about an address, which may be any": "cudaHostGetFlags cudaPointerGetAttributes",
    "its address sits in a struct passed by value": "cudaMemset3D",
}
