"""Which entry points are hot: they change no lifetime, so that a call of them with live handles need not be stored."""

from cuvet.catalog.roles import ENDS, MAKES, Role, Verb

LIFETIME = (
    MAKES
    | ENDS
    | {Verb.RETURNS, Verb.REGISTERS, Verb.LOADS, Verb.RETAINS, Verb.RELEASES, Verb.RESETS, Verb.INITIALISES}
    | {Verb.BEGINS_CAPTURE, Verb.ENDS_CAPTURE}
)
_ASKING = frozenset(
    """
    cuCtxGetCurrent cuStreamGetCtx cuStreamGetGreenCtx cuStreamGetCaptureInfo cudaStreamGetCaptureInfo __cudaGetKernel
    """.split()
)
"""They hand out objects, but only such as the program has already."""

FOLLOWED = frozenset(
    """
    cuCtxAttach cuCtxDetach cuCtxDisablePeerAccess cuCtxEnablePeerAccess cuDevicePrimaryCtxSetFlags cuDeviceSetMemPool
    cuGraphAddDependencies cuGraphConditionalHandleCreate cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeSetEvent
    cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent cuGraphExecNodeSetParams cuGraphExecUpdate
    cuGraphReleaseUserObject cuGraphRemoveDependencies cuGraphRetainUserObject cuIpcGetEventHandle cuLinkComplete
    cuMemPoolSetAccess cuMemSetAccess cuMemSetMemPool cuStreamAttachMemAsync
    """.split()
)
"""They make and end no object, but change what the model knows of one: calls of them are stored too."""

_SELDOM = ("cuCheckpoint", "cuProfiler", "cuCoredump", "cudaProfiler", "__cudaRegister", "__cudaUnregister")


def is_hot(api: str, name: str, roles: tuple[Role, ...]) -> bool:
    """Called often and changes no lifetime. Getters of libraries hand out what the program gave them."""
    if name in _ASKING:
        return True
    lifetime = LIFETIME if api in ("driver", "runtime") else LIFETIME - {Verb.RETURNS}
    return (
        name not in FOLLOWED
        and not name.startswith(_SELDOM)
        and not any(role.verb in lifetime or role.variant == "counted" for role in roles)
    )
