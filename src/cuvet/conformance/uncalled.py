"""Why random programs do not call some entry points: patterns of names, and the reason. The first that fits counts."""

import re

from cuvet.catalog import driver

_OTHER_API = "works on objects of another API or device driver"
_OTHER_PROCESS = "takes a handle from another process"
_DEPRECATED = "deprecated"
_WAITS = "may wait for ever"
_STOPS = "stops or stores processes"
_SETTING = "changes what the whole process does"
_LINKS = "uses links between GPUs that others may be using"
_MANY = "does at once what programs do one by one"
_HARDWARE = "asks about the hardware, and names no object"

_NEWER = "newer than the driver"

REASONS: tuple[tuple[str, str], ...] = (
    (r"cu(GL|VDPAU|EGL|Graphics|D3D\d*)[A-Z]\w*|cuEventCreateFromEGLSync|\w*NvSci\w*", _OTHER_API),
    (r"cu(Import|Destroy|Signal|Wait)External\w+|cuExternalMemory\w+|cuGraph(Add|Exec)?External\w+", _OTHER_API),
    (r"cuMemGetHandleForAddressRange", _OTHER_API),
    (r"cuIpc(Open|Close)\w+|cuMem(Pool)?Import\w+", _OTHER_PROCESS),
    (r"cuStreamWaitValue\d\d", _WAITS),
    (r"cuCheckpoint\w+", _STOPS),
    (r"cuCoredump\w+|cuLogs\w+|cuProfilerInitialize|cuCtxSetFlags", _SETTING),
    (r"cuMulticast\w+|cuLogicalEndpoint\w+|cuFabric\w+|cuDeviceGet(Clique|Fabric)\w+", _LINKS),
    (
        r"cu(TexRef|SurfRef|Param)[A-Z]\w*|cuFuncSet(BlockShape|SharedSize)|cuLaunch(Grid\w*)?|cuCtx(At|De)tach",
        _DEPRECATED,
    ),
    (r"cuLaunchCooperativeKernelMultiDevice|cuModuleGet(Tex|Surf)Ref", _DEPRECATED),
    (r"cuGraphInstantiate", "another name of cuGraphInstantiateWithFlags"),
    (r"\w+(FromFile|AddFile)|cuModuleLoad|cuModuleLoadFatBinary", "loads what programs load from memory"),
    (r"cuTensorMap\w+", "works on a struct of the host"),
    (r"\w*(Batch|WithAttributes)\w*Async|cuMemRangeGetAttributes|cuMemcpy3DPeer(Async)?", _MANY),
    (r"cuMemMapArrayAsync", "is for sparse arrays, which no program makes"),
    (r"cuDevice(Unr|R)egisterAsyncNotification", "calls back when the system runs short of memory"),
    (r"cuStream(Begin|End)(Recapture|Capture)To(Cig|Graph)", "captures for graphics, or captures again"),
    (r"cuDeviceGet(ByPCIBusId|Luid|\w+AtomicCapabilities)|cuFlushGPUDirectRDMAWrites|cuMemGetLocationInfo", _HARDWARE),
    (
        r"cuGraphKernelNodeGetAttribute|cuGreenCtx(GetId|RecordEvent)",
        "is drawn too seldom to be in the recordings of 2026-11-21",
    ),
    (r"cuGetExportTable", "hands out tables that no header describes"),
)


def reason(name: str) -> str:
    """Why the entry point of that name is never called; "" if nobody says."""
    for pattern, text in REASONS:
        if re.fullmatch(pattern, name):
            return text
    return ""


def never_called(names: set[str], driver_version: int) -> dict[str, list[str]]:
    """The entry points that are not in ``names``, by the reason why; those without one under ""."""
    found: dict[str, list[str]] = {}
    for entry_point in driver().entry_points:
        if entry_point.name not in names:
            newer = all(driver().introduced.get(symbol, 0) > driver_version for symbol in entry_point.symbols)
            found.setdefault(_NEWER if newer else reason(entry_point.name), []).append(entry_point.name)
    return found
