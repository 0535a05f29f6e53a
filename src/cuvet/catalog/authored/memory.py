"""Device and pinned host memory, memory pools, virtual memory management."""

from cuvet.catalog.authored.words import *

ROLES: Roles = {
    "cuMemAlloc": (allocates("dptr", size="bytesize"),),
    # The extent is the pitch that comes back, times Height.
    "cuMemAllocPitch": (allocates("dptr", variant="pitched"),),
    "cuMemAllocManaged": (allocates("dptr", size="bytesize", variant="managed"),),
    "cuMemFree": (frees("dptr"),),
    # cuMemGetAddressRange takes any address.
    **alike("cuMemGetInfo cuMemGetAddressRange cuMemHostGetFlags", in_current_context()),
    "cuMemAdvise": (uses(MEMORY, "devPtr", size="count", variant="unified"),),
    "cuMemPrefetchAsync": (uses(MEMORY, "devPtr", size="count", variant="unified"), on("hStream")),
    "cuMemPrefetchBatchAsync": (uses(MEMORY, "dptrs", count="count", variant="unified"), on("hStream")),
    "cuMemDiscardBatchAsync": (uses(MEMORY, "dptrs", count="count", variant="unified"), on("hStream")),
    "cuMemDiscardAndPrefetchBatchAsync": (uses(MEMORY, "dptrs", count="count", variant="unified"), on("hStream")),
    "cuMemRangeGetAttribute": (uses(MEMORY, "devPtr", size="count", variant="unified"),),
    "cuMemRangeGetAttributes": (uses(MEMORY, "devPtr", size="count", variant="unified"),),
    "cuPointerSetAttribute": (uses(MEMORY, "ptr", variant="unified"),),
    "cuIpcGetMemHandle": (in_current_context(), uses(MEMORY, "dptr")),
    "cuIpcOpenMemHandle": (allocates("pdptr", variant="ipc"),),
    "cuIpcCloseMemHandle": (frees("dptr", variant="ipc"),),
    "cuMemGetHandleForAddressRange": (uses(MEMORY, "dptr", size="size"),),
    # Pinned host memory
    **alike("cuMemAllocHost cuMemHostAlloc", allocates("pp", size="bytesize", kind=HOST_MEMORY)),
    "cuMemFreeHost": (frees("p", kind=HOST_MEMORY),),
    "cuMemHostRegister": (registers("p", size="bytesize"),),
    "cuMemHostUnregister": (unregisters("p"),),
    "cuMemHostGetDevicePointer": (in_current_context(), uses(HOST_MEMORY, "p")),
    # Stream-ordered memory and its pools
    "cuMemAllocAsync": (on("hStream"), allocates("dptr", size="bytesize", variant="stream-ordered")),
    "cuMemAllocFromPoolAsync": (
        uses(MEMORY_POOL, "pool"),
        on("hStream"),
        allocates("dptr", size="bytesize", variant="stream-ordered"),
    ),
    "cuMemFreeAsync": (on("hStream"), frees("dptr", variant="stream-ordered")),
    "cuMemPoolCreate": (creates(MEMORY_POOL, "pool"),),
    "cuMemPoolDestroy": (destroys(MEMORY_POOL, "pool"),),
    "cuMemPoolTrimTo": (uses(MEMORY_POOL, "pool"),),
    "cuMemPoolGetAttribute": (uses(MEMORY_POOL, "pool"),),
    "cuMemPoolSetAttribute": (uses(MEMORY_POOL, "pool"),),
    "cuMemPoolGetAccess": (uses(MEMORY_POOL, "memPool"),),
    "cuMemPoolSetAccess": (uses(MEMORY_POOL, "pool"),),
    "cuMemPoolExportToShareableHandle": (uses(MEMORY_POOL, "pool"),),
    "cuMemPoolImportFromShareableHandle": (creates(MEMORY_POOL, "pool_out", variant="ipc"),),
    "cuMemPoolExportPointer": (uses(MEMORY, "ptr"),),
    "cuMemPoolImportPointer": (uses(MEMORY_POOL, "pool"), allocates("ptr_out", variant="imported")),
    "cuDeviceGetDefaultMemPool": (returns(MEMORY_POOL, "pool_out", variant="default"),),
    "cuDeviceGetMemPool": (returns(MEMORY_POOL, "pool"),),
    "cuDeviceSetMemPool": (uses(MEMORY_POOL, "pool"),),
    "cuMemGetDefaultMemPool": (returns(MEMORY_POOL, "pool_out", variant="default"),),
    "cuMemGetMemPool": (returns(MEMORY_POOL, "pool"),),
    "cuMemSetMemPool": (uses(MEMORY_POOL, "pool"),),
    # Virtual memory management. A memory handle is counted: cuMemRelease ends it only if nothing else holds it.
    "cuMemAddressReserve": (allocates("ptr", size="size", kind=ADDRESS_RANGE, variant=""),),
    "cuMemAddressFree": (frees("ptr", size="size", kind=ADDRESS_RANGE),),
    "cuMemCreate": (creates(MEMORY_HANDLE, "handle"),),
    "cuMemRelease": (uses(MEMORY_HANDLE, "handle", variant="counted"),),
    "cuMemRetainAllocationHandle": (returns(MEMORY_HANDLE, "handle", variant="counted"),),
    "cuMemExportToShareableHandle": (uses(MEMORY_HANDLE, "handle"),),
    "cuMemImportFromShareableHandle": (creates(MEMORY_HANDLE, "handle", variant="ipc"),),
    "cuMemGetAllocationPropertiesFromHandle": (uses(MEMORY_HANDLE, "handle"),),
    "cuMemMap": (uses(MEMORY_HANDLE, "handle"), registers("ptr", size="size", kind=MEMORY, variant="mapped")),
    "cuMemUnmap": (unregisters("ptr", size="size", kind=MEMORY, variant="mapped"),),
    "cuMemSetAccess": (uses(MEMORY, "ptr", size="size", variant="mapped"),),
    "cuMemMapArrayAsync": (on("hStream"),),
    "cuMulticastCreate": (creates(MEMORY_HANDLE, "mcHandle", variant="multicast"),),
    "cuMulticastAddDevice": (uses(MEMORY_HANDLE, "mcHandle"),),
    "cuMulticastBindMem": (uses(MEMORY_HANDLE, "mcHandle"), uses(MEMORY_HANDLE, "memHandle")),
    "cuMulticastBindAddr": (uses(MEMORY_HANDLE, "mcHandle"), uses(MEMORY, "memptr", size="size")),
    "cuMulticastUnbind": (uses(MEMORY_HANDLE, "mcHandle"),),
    "cuLogicalEndpointBindAddr": (uses(MEMORY, "ptr", size="size", variant="unified"),),
    "cuLogicalEndpointBindMem": (uses(MEMORY_HANDLE, "memHandle"),),
}


NO_ROLE: ByReason = {
    "asks about an address, which may be any": """
        cuMemGetAccess cuMemGetLocationInfo cuPointerGetAttribute cuPointerGetAttributes
    """,
    "asks about properties or locations: names no object": "cuMemGetAllocationGranularity cuMulticastGetGranularity",
    "acts on a logical endpoint, a number that the program reserves: names no object": """
        cuLogicalEndpointAddDevice cuLogicalEndpointCreate cuLogicalEndpointDestroy cuLogicalEndpointExport
        cuLogicalEndpointGetLimits cuLogicalEndpointIdRelease cuLogicalEndpointIdReserve cuLogicalEndpointImport
        cuLogicalEndpointQuery cuLogicalEndpointUnbind
    """,
}
