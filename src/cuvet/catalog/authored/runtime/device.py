"""Devices, execution contexts, errors, streams and events of the runtime API, where they differ from the driver's."""

from cuvet.catalog.authored.words import *

_CONTEXT = uses(GREEN_CONTEXT, "ctx")
"""An execution context is a green context, or stands for a device's primary context."""

ROLES: Roles = {
    **alike("cudaSetDevice cudaGLSetGLDevice cudaVDPAUSetVDPAUDevice", sets_current("device", DEVICE)),
    "cudaInitDevice": (uses(DEVICE, "device"),),
    **alike("cudaDeviceReset cudaThreadExit", resets()),
    **alike("cudaDeviceSynchronize cudaThreadSynchronize", blocks(CONTEXT)),
    **alike("cudaStreamCreate cudaStreamCreateWithFlags", creates(STREAM, "pStream")),
    "cudaStreamBeginRecaptureToGraph": (begins_capture("stream"), uses(GRAPH, "graph")),
    **alike("cudaEventCreate cudaEventCreateWithFlags", creates(EVENT, "event")),
    "cudaDeviceGetExecutionCtx": (returns(GREEN_CONTEXT, "ctx", variant="primary"),),
    "cudaExecutionCtxDestroy": (destroys(GREEN_CONTEXT, "ctx"),),
    **alike("cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice cudaExecutionCtxGetId", _CONTEXT),
    "cudaExecutionCtxSynchronize": (blocks(GREEN_CONTEXT, "ctx"),),
    "cudaExecutionCtxRecordEvent": (_CONTEXT, records("event")),
    "cudaExecutionCtxWaitEvent": (_CONTEXT, waits("event")),
    "cudaExecutionCtxStreamCreate": (_CONTEXT, creates(STREAM, "phStream", parent="ctx")),
}

NO_ROLE: ByReason = {
    "asks about a device: names no object": """
        cudaChooseDevice cudaDeviceGetTexture1DLinearMaxWidth cudaGetDevice cudaGetDeviceCount cudaGetDeviceProperties
    """,
    "reads or sets a property of the current device: names no object": """
        cudaCtxResetPersistingL2Cache cudaDeviceDisablePeerAccess cudaDeviceEnablePeerAccess cudaDeviceGetCacheConfig
        cudaDeviceGetLimit cudaDeviceGetSharedMemConfig cudaDeviceGetStreamPriorityRange cudaDeviceSetCacheConfig
        cudaDeviceSetLimit cudaDeviceSetSharedMemConfig cudaGetDeviceFlags cudaMemGetInfo cudaSetDeviceFlags
        cudaThreadGetCacheConfig cudaThreadGetLimit cudaThreadSetCacheConfig cudaThreadSetLimit
    """,
    "says which devices may be chosen: names no object": "cudaSetValidDevices",
    "orders other devices' writes: names no object": "cudaDeviceFlushGPUDirectRDMAWrites",
    "asks about the runtime: names no object": "cudaRuntimeGetVersion",
    "asks about the last error of the calling thread: names no object": "cudaGetLastError cudaPeekAtLastError",
    "translates a status: names no object": "cudaGetErrorName cudaGetErrorString",
    "hands out functions of the driver: names no object": "cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion",
    "does nothing since devices have double precision": "cudaSetDoubleForDevice cudaSetDoubleForHost",
}
