"""Contexts, primary contexts and green contexts."""

from cuvet.catalog.authored.words import *

ROLES: Roles = {
    "cuInit": (initialises(),),
    # Variant "current": the new context is pushed onto the calling thread's stack.
    "cuCtxCreate": (creates(CONTEXT, "pctx", variant="current"),),
    **alike("cuGLCtxCreate cuVDPAUCtxCreate", creates(CONTEXT, "pCtx", variant="current")),
    "cuCtxDestroy": (destroys(CONTEXT, "ctx"),),
    "cuCtxAttach": (returns(CONTEXT, "pctx"),),
    # Counts down; the context ends with the last of its users.
    "cuCtxDetach": (uses(CONTEXT, "ctx"),),
    "cuCtxPushCurrent": (pushes("ctx"),),
    "cuCtxPopCurrent": (pops("pctx"),),
    "cuCtxSetCurrent": (sets_current("ctx"),),
    "cuCtxGetCurrent": (returns(CONTEXT, "pctx"),),
    # Null, and every symbol without the parameter, means the current context.
    "cuCtxSynchronize": (blocks(CONTEXT, "ctx", null=True),),
    **alike("cuCtxGetDevice cuCtxGetApiVersion cuCtxGetId", uses(CONTEXT, "ctx", null=True)),
    "cuCtxGetDevResource": (uses(CONTEXT, "hCtx"),),
    "cuCtxRecordEvent": (uses(CONTEXT, "hCtx"), records("hEvent")),
    "cuCtxWaitEvent": (uses(CONTEXT, "hCtx"), waits("hEvent")),
    **alike("cuCtxEnablePeerAccess cuCtxDisablePeerAccess", in_current_context(), uses(CONTEXT, "peerContext")),
    **alike(
        """
        cuCtxGetFlags cuCtxSetFlags cuCtxGetLimit cuCtxSetLimit cuCtxGetCacheConfig cuCtxSetCacheConfig
        cuCtxGetSharedMemConfig cuCtxSetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxGetExecAffinity
        cuCtxResetPersistingL2Cache
        """,
        in_current_context(),
    ),
    "cuDevicePrimaryCtxRetain": (retains("dev"), returns(CONTEXT, "pctx", variant="primary")),
    "cuDevicePrimaryCtxRelease": (releases("dev"),),
    "cuDevicePrimaryCtxReset": (resets("dev"),),
    "cuGreenCtxCreate": (creates(GREEN_CONTEXT, "phCtx"), retains("dev")),
    "cuGreenCtxDestroy": (destroys(GREEN_CONTEXT, "hCtx"),),
    "cuCtxFromGreenCtx": (uses(GREEN_CONTEXT, "hCtx"), returns(CONTEXT, "pContext", parent="hCtx", variant="green")),
    "cuGreenCtxStreamCreate": (uses(GREEN_CONTEXT, "greenCtx"), creates(STREAM, "phStream", parent="greenCtx")),
    "cuGreenCtxRecordEvent": (uses(GREEN_CONTEXT, "hCtx"), records("hEvent")),
    "cuGreenCtxWaitEvent": (uses(GREEN_CONTEXT, "hCtx"), waits("hEvent")),
    "cuGreenCtxGetDevResource": (uses(GREEN_CONTEXT, "hCtx"),),
    "cuGreenCtxGetId": (uses(GREEN_CONTEXT, "greenCtx"),),
}

NO_ROLE: ByReason = {
    "asks about a device's primary context without taking hold of it": "cuDevicePrimaryCtxGetState",
    "sets flags for the primary context that a device may have later": "cuDevicePrimaryCtxSetFlags",
    "asks about a device's resources: names no object": "cuDeviceGetDevResource",
    "describes resources in a descriptor that is never freed": "cuDevResourceGenerateDesc",
    "calculates with descriptions of resources: names no object": "cuDevSmResourceSplit cuDevSmResourceSplitByCount",
}
