"""External memory and semaphores, graphics resources, OpenGL, EGL and VDPAU."""

from cuvet.catalog.authored.words import *

_RESOURCE = uses(GRAPHICS_RESOURCE, "resource")

ROLES: Roles = {
    "cuImportExternalMemory": (creates(EXTERNAL_MEMORY, "extMem_out"),),
    "cuDestroyExternalMemory": (destroys(EXTERNAL_MEMORY, "extMem"),),
    # Mappings have to be freed on their own, before or after the memory that they map.
    "cuExternalMemoryGetMappedBuffer": (uses(EXTERNAL_MEMORY, "extMem"), allocates("devPtr", variant="external")),
    "cuExternalMemoryGetMappedMipmappedArray": (uses(EXTERNAL_MEMORY, "extMem"), creates(MIPMAPPED_ARRAY, "mipmap")),
    "cuImportExternalSemaphore": (creates(EXTERNAL_SEMAPHORE, "extSem_out"),),
    "cuDestroyExternalSemaphore": (destroys(EXTERNAL_SEMAPHORE, "extSem"),),
    "cuSignalExternalSemaphoresAsync": (uses(EXTERNAL_SEMAPHORE, "extSemArray", count="numExtSems"), on("stream")),
    "cuWaitExternalSemaphoresAsync": (uses(EXTERNAL_SEMAPHORE, "extSemArray", count="numExtSems"), on("stream")),
    # Graphics resources
    "cuGraphicsGLRegisterBuffer": (creates(GRAPHICS_RESOURCE, "pCudaResource"),),
    "cuGraphicsGLRegisterImage": (creates(GRAPHICS_RESOURCE, "pCudaResource"),),
    "cuGraphicsEGLRegisterImage": (creates(GRAPHICS_RESOURCE, "pCudaResource"),),
    "cuGraphicsVDPAURegisterOutputSurface": (creates(GRAPHICS_RESOURCE, "pCudaResource"),),
    "cuGraphicsVDPAURegisterVideoSurface": (creates(GRAPHICS_RESOURCE, "pCudaResource"),),
    "cuGraphicsUnregisterResource": (destroys(GRAPHICS_RESOURCE, "resource"),),
    "cuGraphicsMapResources": (uses(GRAPHICS_RESOURCE, "resources", count="count"), on("hStream")),
    "cuGraphicsUnmapResources": (uses(GRAPHICS_RESOURCE, "resources", count="count"), on("hStream")),
    "cuGraphicsResourceSetMapFlags": (_RESOURCE,),
    "cuGraphicsResourceGetMappedPointer": (
        _RESOURCE,
        returns(MEMORY, "pDevPtr", size="pSize", parent="resource", variant="graphics"),
    ),
    "cuGraphicsResourceGetMappedMipmappedArray": (
        _RESOURCE,
        returns(MIPMAPPED_ARRAY, "pMipmappedArray", parent="resource"),
    ),
    "cuGraphicsSubResourceGetMappedArray": (_RESOURCE, returns(ARRAY, "pArray", parent="resource")),
    "cuGraphicsResourceGetMappedEglFrame": (_RESOURCE,),
    # OpenGL, as it was before graphics resources
    "cuGLMapBufferObject": (returns(MEMORY, "dptr", size="size", variant="graphics"),),
    "cuGLMapBufferObjectAsync": (on("hStream"), returns(MEMORY, "dptr", size="size", variant="graphics")),
    "cuGLUnmapBufferObjectAsync": (on("hStream"),),
    # EGL streams
    "cuEGLStreamConsumerAcquireFrame": (returns(GRAPHICS_RESOURCE, "pCudaResource"),),
    "cuEGLStreamConsumerReleaseFrame": (uses(GRAPHICS_RESOURCE, "pCudaResource"),),
}


NO_ROLE: ByReason = {
    "names a buffer of OpenGL, no object of CUDA": """
        cuGLInit cuGLRegisterBufferObject cuGLUnregisterBufferObject cuGLSetBufferObjectMapFlags cuGLUnmapBufferObject
    """,
    "names a connection to an EGL stream, no object of CUDA": """
        cuEGLStreamConsumerConnect cuEGLStreamConsumerConnectWithFlags cuEGLStreamConsumerDisconnect
        cuEGLStreamProducerConnect cuEGLStreamProducerDisconnect cuEGLStreamProducerPresentFrame
        cuEGLStreamProducerReturnFrame
    """,
}
