"""Runtime calls that are one driver call, mostly with the same parameters in the same order, once a context is current."""

from collections.abc import Callable, Iterable
from functools import cache

from cuvet.catalog import runtime as catalog
from cuvet.device.protocol import Command, Steps
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
    GraphEventWaitNodeSetEvent GraphExecEventWaitNodeSetEvent GraphExecChildGraphNodeSetParams
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


_WITH_WORDS = {
    "cudaDeviceGetAttribute": "cuDeviceGetAttribute value attr device",
    "cudaDeviceGetPCIBusId": "cuDeviceGetPCIBusId pciBusId len device",
    "cudaDeviceSynchronize": "cuCtxSynchronize 0",
    "cudaEventCreate": "cuEventCreate event 0",
    "cudaFreeHost": "cuMemFreeHost ptr",
    "cudaGetDeviceFlags": "cuCtxGetFlags flags",
    "cudaLaunchHostFunc": "cuLaunchHostFunc stream fn userData syncMode",
    "cudaStreamCreate": "cuStreamCreate pStream 0",
    "cudaThreadSynchronize": "cuCtxSynchronize 0",
}
"""The driver's entry point, and what it is given: parameters, or 0."""
_PREPARED = dict.fromkeys((*_WITHOUT_CONTEXT, "DeviceGetAttribute", "DeviceGetPCIBusId"), initialise)


@cache
def handler(name: str) -> Callable[[RuntimeCall], Steps[None]] | None:
    """What answers that runtime entry point; None if it is not merely forwarded."""
    if name not in DRIVER_NAMES and name not in _WITH_WORDS:
        return None
    prepare: Callable[[RuntimeCall], Iterable[Command]] = _PREPARED.get(name.removeprefix("cuda"), ensure_context)
    # Older signatures lack some parameters of the newest, which is the one that the driver call has.
    newest = [parameter.name for parameter in catalog()[name].parameters]
    driver_name, *given = _WITH_WORDS[name].split() if name in _WITH_WORDS else (DRIVER_NAMES[name], *newest)

    def forward(call: RuntimeCall) -> Steps[None]:
        yield from prepare(call)
        index, words = call.index, call.words
        yield from call.driver(driver_name, *[words[index[word]] if word in index else 0 for word in given])

    return forward
