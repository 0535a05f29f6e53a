"""Runtime calls whose driver call has the same parameters in the same order, once a context is current."""

from collections.abc import Callable

from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import RuntimeCall
from cuvet.device.runtime.device import ensure_context, initialise

_SAME_NAME = """
    StreamCreateWithPriority StreamDestroy StreamQuery StreamSynchronize StreamWaitEvent StreamGetFlags StreamGetPriority
    StreamGetId StreamGetDevice StreamAddCallback StreamAttachMemAsync StreamBeginCapture StreamEndCapture StreamIsCapturing
    StreamGetCaptureInfo StreamCopyAttributes StreamGetAttribute StreamSetAttribute EventDestroy EventElapsedTime EventQuery
    EventRecord EventRecordWithFlags EventSynchronize MemGetInfo MemPoolCreate MemPoolDestroy MemPoolGetAttribute
    MemPoolSetAttribute MemPoolSetAccess MemPoolGetAccess MemPoolTrimTo GraphAddChildGraphNode GraphAddDependencies
    GraphAddEmptyNode GraphAddEventRecordNode GraphAddEventWaitNode GraphAddHostNode GraphChildGraphNodeGetGraph GraphClone
    GraphCreate GraphDestroy GraphDestroyNode GraphExecDestroy GraphExecGetFlags GraphExecUpdate GraphGetEdges GraphGetId
    GraphGetNodes GraphGetRootNodes GraphLaunch GraphNodeGetDependencies GraphNodeGetDependentNodes GraphNodeGetType
    GraphReleaseUserObject GraphRemoveDependencies GraphRetainUserObject GraphUpload GraphInstantiateWithParams
    GraphHostNodeGetParams GraphExecHostNodeSetParams GraphHostNodeSetParams GraphAddMemAllocNode GraphAddMemFreeNode
    GraphEventRecordNodeGetEvent GraphEventRecordNodeSetEvent GraphExecEventRecordNodeSetEvent GraphEventWaitNodeGetEvent
    GraphEventWaitNodeSetEvent GraphExecEventWaitNodeSetEvent
    MemcpyBatchAsync IpcGetMemHandle IpcGetEventHandle UserObjectCreate UserObjectRelease UserObjectRetain LibraryGetKernelCount
    LibraryGetGlobal LibraryGetManaged LibraryGetKernel LibraryEnumerateKernels LibraryLoadData LibraryLoadFromFile LibraryUnload
    GraphInstantiateWithFlags CtxResetPersistingL2Cache ThreadExchangeStreamCaptureMode MemRangeGetAttribute
""".split()
_OF_CONTEXT = """
    GetLimit SetLimit GetCacheConfig SetCacheConfig GetSharedMemConfig SetSharedMemConfig GetStreamPriorityRange
""".split()
"""Of the current device, in the driver's names of the current context."""
_OF_MEMORY = """
    Free FreeAsync HostRegister HostUnregister HostGetDevicePointer HostGetFlags HostAlloc
""".split()
"""In the driver's names ``Mem`` comes before them."""
_OTHER_NAME = {
    **{f"cudaDevice{name}": f"cuCtx{name}" for name in _OF_CONTEXT},
    **{f"cuda{name}": f"cuMem{name}" for name in _OF_MEMORY},
    "cudaEventCreateWithFlags": "cuEventCreate",
    "cudaStreamCreateWithFlags": "cuStreamCreate",
    "cudaDestroyTextureObject": "cuTexObjectDestroy",
    "cudaDestroySurfaceObject": "cuSurfObjectDestroy",
    "cudaFreeMipmappedArray": "cuMipmappedArrayDestroy",
    "cudaGetMipmappedArrayLevel": "cuMipmappedArrayGetLevel",
    "cudaGraphInstantiate": "cuGraphInstantiateWithFlags",
}
_WITHOUT_CONTEXT = """
    DeviceCanAccessPeer DeviceGetByPCIBusId DeviceGetP2PAttribute DeviceGetDefaultMemPool DeviceGetMemPool
    DeviceSetMemPool
""".split()
DRIVER_NAMES = {f"cuda{name}": f"cu{name}" for name in (*_SAME_NAME, *_WITHOUT_CONTEXT)} | _OTHER_NAME


def handler(name: str) -> Callable[[RuntimeCall], Steps[int]] | None:
    """What answers that runtime entry point; None if it is not merely forwarded."""
    if name not in DRIVER_NAMES:
        return None
    prepare = initialise if name.removeprefix("cuda") in _WITHOUT_CONTEXT else ensure_context

    def forward(call: RuntimeCall) -> Steps[int]:
        yield from prepare(call)
        # Older signatures lack some parameters of the newest, which is the one that the driver call has.
        words = [call.words.get(parameter.name, 0) for parameter in call.entry_point.parameters]
        return (yield from call.driver(DRIVER_NAMES[name], *words))

    return forward
