"""Devices, execution contexts, errors, streams and events of the runtime API, where they differ from the driver's."""

from cuvet.catalog.authored.words import (
    CONTEXT,
    DEVICE,
    EVENT,
    GRAPH,
    GREEN_CONTEXT,
    STREAM,
    Reasons,
    Roles,
    begins_capture,
    blocks,
    creates,
    destroys,
    records,
    resets,
    returns,
    sets_current,
    uses,
    waits,
)

_ASKS = "asks about a device: names no object"
_SETTING = "reads or sets a property of the current device: names no object"
_LAST_ERROR = "asks about the last error of the calling thread: names no object"
_CONTEXT = uses(GREEN_CONTEXT, "ctx")
"""An execution context is a green context, or stands for a device's primary context."""

ROLES: Roles = {
    "cudaSetDevice": (sets_current("device", DEVICE),),
    "cudaInitDevice": (uses(DEVICE, "device"),),
    "cudaGLSetGLDevice": (sets_current("device", DEVICE),),
    "cudaVDPAUSetVDPAUDevice": (sets_current("device", DEVICE),),
    "cudaDeviceReset": (resets(),),
    "cudaThreadExit": (resets(),),
    "cudaDeviceSynchronize": (blocks(CONTEXT),),
    "cudaThreadSynchronize": (blocks(CONTEXT),),
    "cudaStreamCreate": (creates(STREAM, "pStream"),),
    "cudaStreamCreateWithFlags": (creates(STREAM, "pStream"),),
    "cudaStreamBeginRecaptureToGraph": (begins_capture("stream"), uses(GRAPH, "graph")),
    "cudaEventCreate": (creates(EVENT, "event"),),
    "cudaEventCreateWithFlags": (creates(EVENT, "event"),),
    "cudaDeviceGetExecutionCtx": (returns(GREEN_CONTEXT, "ctx", variant="primary"),),
    "cudaExecutionCtxDestroy": (destroys(GREEN_CONTEXT, "ctx"),),
    "cudaExecutionCtxGetDevResource": (_CONTEXT,),
    "cudaExecutionCtxGetDevice": (_CONTEXT,),
    "cudaExecutionCtxGetId": (_CONTEXT,),
    "cudaExecutionCtxSynchronize": (blocks(GREEN_CONTEXT, "ctx"),),
    "cudaExecutionCtxRecordEvent": (_CONTEXT, records("event")),
    "cudaExecutionCtxWaitEvent": (_CONTEXT, waits("event")),
    "cudaExecutionCtxStreamCreate": (_CONTEXT, creates(STREAM, "phStream", parent="ctx")),
}

NO_ROLE: Reasons = {
    **dict.fromkeys(
        (
            "cudaChooseDevice",
            "cudaDeviceGetTexture1DLinearMaxWidth",
            "cudaGetDevice",
            "cudaGetDeviceCount",
            "cudaGetDeviceProperties",
        ),
        _ASKS,
    ),
    **dict.fromkeys(
        """
        cudaCtxResetPersistingL2Cache cudaDeviceDisablePeerAccess cudaDeviceEnablePeerAccess
        cudaDeviceGetCacheConfig cudaDeviceGetLimit cudaDeviceGetSharedMemConfig cudaDeviceGetStreamPriorityRange
        cudaDeviceSetCacheConfig cudaDeviceSetLimit cudaDeviceSetSharedMemConfig cudaGetDeviceFlags cudaMemGetInfo
        cudaSetDeviceFlags cudaThreadGetCacheConfig cudaThreadGetLimit cudaThreadSetCacheConfig cudaThreadSetLimit
        """.split(),
        _SETTING,
    ),
    "cudaSetValidDevices": "says which devices may be chosen: names no object",
    "cudaDeviceFlushGPUDirectRDMAWrites": "orders other devices' writes: names no object",
    "cudaRuntimeGetVersion": "asks about the runtime: names no object",
    "cudaGetLastError": _LAST_ERROR,
    "cudaPeekAtLastError": _LAST_ERROR,
    "cudaGetErrorName": "translates a status: names no object",
    "cudaGetErrorString": "translates a status: names no object",
    "cudaGetDriverEntryPoint": "hands out functions of the driver: names no object",
    "cudaGetDriverEntryPointByVersion": "hands out functions of the driver: names no object",
    "cudaSetDoubleForDevice": "does nothing since devices have double precision",
    "cudaSetDoubleForHost": "does nothing since devices have double precision",
}
