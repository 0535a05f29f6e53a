"""What numbers the parameters of the driver's entry points take, where the driver refuses others.

``"cuStreamCreate": (flags("Flags", "CUstream_flags"),)``: only bits of that enumeration. Each entry's ``text`` is what the page of the
entry point in the CUDA Driver API says; entries without one were recorded on an NVIDIA H200 with driver 580.159.04.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Takes:
    """``parameter`` takes one of ``values``, or of those of the enumeration; with ``bits``, any of them together. A value of
    ``together`` is taken only with the other. With ``multiple``, it takes multiples of that, but not 0. With ``field`` all this is
    about a member of the struct that the parameter points to. ``status``: what is returned for other values."""

    parameter: str
    values: tuple[int, ...] = ()
    enumeration: str = ""
    bits: bool = False
    together: tuple[int, int] | None = None
    multiple: int = 0
    field: str = ""
    text: str = ""
    status: int = 1


def flags(
    parameter: str, enumeration: str = "", *values: int, together: tuple[int, int] | None = None, text: str = ""
) -> Takes:
    return Takes(parameter, values, enumeration, bits=True, together=together, text=text)


def one_of(
    parameter: str, *values: int, enumeration: str = "", field: str = "", text: str = "", status: int = 1
) -> Takes:
    return Takes(parameter, values, enumeration, field=field, text=text, status=status)


def multiple_of(parameter: str, multiple: int, text: str = "") -> Takes:
    return Takes(parameter, multiple=multiple, text=text)


def given(parameter: str, field: str = "", text: str = "") -> Takes:
    """Anything but 0 or NULL."""
    return Takes(parameter, multiple=1, field=field, text=text)


def zero(parameter: str, text: str = "", status: int = 1) -> Takes:
    return Takes(parameter, (0,), text=text, status=status)


_DISABLE_TIMING, _INTERPROCESS = 2, 4
_AUTO_FREE, _DEVICE_LAUNCH, _USE_NODE_PRIORITY = 1, 4, 8
_PORTABLE, _DEVICEMAP, _WRITECOMBINED = 1, 2, 4
_GLOBAL, _HOST, _SINGLE = 1, 2, 4
_ARRAY = 0
_SYNC_MEMOPS = 6
_GRANULARITY = 2 << 20
"""Bytes: recorded on an H200, where other sizes are refused."""
_ALLOCATION_TYPES = (1, 2)
"""CU_MEM_ALLOCATION_TYPE_PINNED and _MANAGED."""
_HIGH_WATERMARKS = (1, 3)
"""CU_GRAPH_MEM_ATTR_USED_MEM_HIGH and CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH."""
_SETTABLE = (1, 2, 3, 4, 6, 8)
"""CUmemPool_attribute, without those that only tell: the bytes reserved and used now, and what the pool was made with."""
_SETTABLE_OF_FUNCTION = (8, 9, 11, 12, 13, 14, 15, 16, 17)
"""CUfunction_attribute, without those that only tell what the code needs."""
_SHAREABLE = (1, 2, 4, 8)
"""CUmemAllocationHandleType, without CU_MEM_HANDLE_TYPE_NONE."""
_POOL_ACCESS = (0, 3)
"""CU_MEM_ACCESS_FLAGS_PROT_NONE and _PROT_READWRITE."""
_NOT_SUPPORTED = 801
"""CUDA_ERROR_NOT_SUPPORTED."""
_ASSIGN_DEFAULT, _DEFAULT_STREAM = 1, 1
"""CU_GRAPH_COND_ASSIGN_DEFAULT and CU_GREEN_CTX_DEFAULT_STREAM."""
_ELEMENT_SIZE = "the size of each element must be 1, 2, or 4 bytes"
_UNKNOWN_ERROR = "if the error code is not recognized, CUDA_ERROR_INVALID_VALUE will be returned"
_LOCATIONS = (1, 2, 3, 4)
"""CUmemLocationType, without CU_MEM_LOCATION_TYPE_INVALID."""

ARGUMENTS: dict[str, tuple[Takes, ...]] = {
    "cuInit": (zero("Flags", "Flags must be 0"),),
    "cuStreamCreate": (flags("Flags", "CUstream_flags"),),
    "cuStreamCreateWithPriority": (flags("flags", "CUstream_flags"),),
    "cuStreamWaitEvent": (flags("Flags", "CUevent_wait_flags"),),
    "cuEventRecordWithFlags": (flags("flags", "CUevent_record_flags"),),
    "cuGraphInstantiateWithFlags": (flags("flags", "", _AUTO_FREE, _DEVICE_LAUNCH, _USE_NODE_PRIORITY),),
    "cuGraphRetainUserObject": (flags("flags", "CUuserObjectRetain_flags"),),
    "cuStreamUpdateCaptureDependencies": (one_of("flags", enumeration="CUstreamUpdateCaptureDependencies_flags"),),
    "cuStreamAddCallback": (given("callback"), zero("flags", "flags must be 0")),
    "cuLaunchHostFunc": (given("fn"),),
    "cuUserObjectCreate": (
        given("initialRefcount"),
        one_of("flags", enumeration="CUuserObject_flags", text="CU_USER_OBJECT_NO_DESTRUCTOR_SYNC is required"),
    ),
    "cuCtxGetLimit": (one_of("limit", enumeration="CUlimit"),),
    "cuCtxSetLimit": (one_of("limit", enumeration="CUlimit"),),
    "cuCtxSetCacheConfig": (one_of("config", enumeration="CUfunc_cache"),),
    "cuCtxSetSharedMemConfig": (one_of("config", enumeration="CUsharedconfig"),),
    "cuFuncSetCacheConfig": (one_of("config", enumeration="CUfunc_cache"),),
    "cuFuncSetSharedMemConfig": (one_of("config", enumeration="CUsharedconfig"),),
    "cuGetErrorString": (one_of("error", enumeration="CUresult", text=_UNKNOWN_ERROR),),
    "cuGetErrorName": (one_of("error", enumeration="CUresult", text=_UNKNOWN_ERROR),),
    "cuGraphConditionalHandleCreate": (flags("flags", "", _ASSIGN_DEFAULT, text="CU_GRAPH_COND_ASSIGN_DEFAULT or 0"),),
    "cuGreenCtxCreate": (
        flags("flags", "", _DEFAULT_STREAM),
        given("flags", text="CU_GREEN_CTX_DEFAULT_STREAM is required"),
    ),
    "cuGreenCtxStreamCreate": (given("flags", text="CU_STREAM_NON_BLOCKING must be specified"),),
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": (flags("flags", "CUoccupancy_flags"),),
    "cuPointerSetAttribute": (
        one_of("attribute", _SYNC_MEMOPS, text="the supported attribute is CU_POINTER_ATTRIBUTE_SYNC_MEMOPS"),
    ),
    "cuStreamBeginCapture": (one_of("mode", enumeration="CUstreamCaptureMode"),),
    "cuStreamBeginCaptureToGraph": (one_of("mode", enumeration="CUstreamCaptureMode"),),
    "cuEventCreate": (
        flags(
            "Flags",
            "CUevent_flags",
            together=(_INTERPROCESS, _DISABLE_TIMING),
            text="CU_EVENT_INTERPROCESS goes only with CU_EVENT_DISABLE_TIMING",
        ),
    ),
    "cuMemAllocManaged": (one_of("flags", _GLOBAL, _HOST, text="must be CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST"),),
    "cuMemAllocPitch": (one_of("ElementSizeBytes", 4, 8, 16, text="ElementSizeBytes may be 4, 8 or 16"),),
    "cuMemHostAlloc": (flags("Flags", "", _PORTABLE, _DEVICEMAP, _WRITECOMBINED),),
    "cuMemHostGetDevicePointer": (zero("Flags", "Flags must be 0"),),
    "cuGraphCreate": (zero("flags", "flags must be 0"),),
    "cuCtxEnablePeerAccess": (zero("Flags", "CUDA_ERROR_INVALID_VALUE if Flags is not 0"),),
    "cuFuncGetAttribute": (one_of("attrib", enumeration="CUfunction_attribute"),),
    "cuKernelGetAttribute": (one_of("attrib", enumeration="CUfunction_attribute"),),
    "cuDeviceGetAttribute": (one_of("attrib", enumeration="CUdevice_attribute"),),
    "cuMemCreate": (
        multiple_of("size", _GRANULARITY, text="size must be a multiple of what cuMemGetAllocationGranularity tells"),
        one_of("prop", *_ALLOCATION_TYPES, field="type"),
        one_of("prop", *_LOCATIONS, field="location.type"),
    ),
    "cuMemAddressReserve": (multiple_of("size", _GRANULARITY),),
    "cuMemPoolCreate": (
        one_of("poolProps", *_ALLOCATION_TYPES, field="allocType"),
        one_of("poolProps", *_LOCATIONS, field="location.type"),
    ),
    "cuMemMap": (zero("offset", text="offset must be zero", status=_NOT_SUPPORTED),),
    "cuMemPoolSetAccess": (one_of("map", *_POOL_ACCESS, field="flags", status=_NOT_SUPPORTED),),
    "cuMemAdvise": (one_of("advice", enumeration="CUmem_advise"),),
    "cuStreamAttachMemAsync": (one_of("flags", 0, _GLOBAL, _HOST, _SINGLE),),
    "cuStreamGetAttribute": (one_of("attr", enumeration="CUstreamAttrID"),),
    "cuStreamWriteValue32": (zero("flags"),),
    "cuStreamWriteValue64": (zero("flags"),),
    "cuGraphAddMemsetNode": (one_of("memsetParams", 1, 2, 4, field="elementSize", text=_ELEMENT_SIZE),),
    "cuGraphMemsetNodeSetParams": (one_of("nodeParams", 1, 2, 4, field="elementSize", text=_ELEMENT_SIZE),),
    "cuGraphExecMemsetNodeSetParams": (one_of("memsetParams", 1, 2, 4, field="elementSize", text=_ELEMENT_SIZE),),
    "cuGraphAddHostNode": (given("nodeParams", field="fn"),),
    "cuMemGetAllocationGranularity": (one_of("option", enumeration="CUmemAllocationGranularity_flags"),),
    "cuDeviceGetGraphMemAttribute": (one_of("attr", enumeration="CUgraphMem_attribute"),),
    "cuDeviceSetGraphMemAttribute": (one_of("attr", *_HIGH_WATERMARKS),),
    "cuGraphAddMemAllocNode": (given("nodeParams", field="bytesize"),),
    "cuMemGetMemPool": (one_of("type", *_ALLOCATION_TYPES),),
    "cuFuncSetAttribute": (one_of("attrib", *_SETTABLE_OF_FUNCTION, text="the attributes that can be set"),),
    "cuSurfObjectCreate": (one_of("pResDesc", _ARRAY, field="resType", text="resType must be CU_RESOURCE_TYPE_ARRAY"),),
    "cuMemPoolGetAttribute": (one_of("attr", enumeration="CUmemPool_attribute"),),
    "cuMemPoolSetAttribute": (
        one_of("attr", *_SETTABLE, text="the attributes that are there to be set, and the high watermarks"),
    ),
    "cuMemExportToShareableHandle": (one_of("handleType", *_SHAREABLE),),
    "cuMemGetDefaultMemPool": (one_of("type", *_ALLOCATION_TYPES),),
}
