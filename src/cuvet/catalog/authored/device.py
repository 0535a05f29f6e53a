"""Devices, the driver itself, errors, profiling, logs, core dumps and checkpoints."""

from cuvet.catalog.authored.words import Reasons, Roles, calls_back, in_current_context

_ASKS = "asks about a device: names no object"
_ANY_PROCESS = "acts on a whole process, given by its id: names no object"
_CORE_DUMP = "reads or sets how core dumps are made: names no object"
_LOGS = "reads the driver's log: names no object"
_PROFILER = "switches profiling: names no object"

ROLES: Roles = {
    "cuDeviceRegisterAsyncNotification": (calls_back("callbackFunc"),),
    "cuCoredumpRegisterStartCallback": (calls_back("callback"),),
    "cuCoredumpRegisterCompleteCallback": (calls_back("callback"),),
    "cuLogsRegisterCallback": (calls_back("callbackFunc"),),
    "cuProfilerStart": (in_current_context(),),
    "cuProfilerStop": (in_current_context(),),
}

NO_ROLE: Reasons = {
    **dict.fromkeys(
        """
        cuDeviceCanAccessPeer cuDeviceComputeCapability cuDeviceGet cuDeviceGetAttribute cuDeviceGetByPCIBusId
        cuDeviceGetCliqueCount cuDeviceGetCliqueInfo cuDeviceGetCount cuDeviceGetExecAffinitySupport
        cuDeviceGetFabricClusterUuid cuDeviceGetGraphMemAttribute cuDeviceGetHostAtomicCapabilities cuDeviceGetLuid
        cuDeviceGetName cuDeviceGetNvSciSyncAttributes cuDeviceGetP2PAtomicCapabilities cuDeviceGetP2PAttribute
        cuDeviceGetPCIBusId cuDeviceGetProperties cuDeviceGetTexture1DLinearMaxWidth cuDeviceGetUuid
        cuDeviceTotalMem cuGLGetDevices cuVDPAUGetDevice
        """.split(),
        _ASKS,
    ),
    "cuDeviceSetGraphMemAttribute": "resets a device's counters of graph memory: names no object",
    "cuDeviceGraphMemTrim": "gives unused graph memory of a device back: names no object",
    "cuDeviceUnregisterAsyncNotification": "ends a notification; its handle is of no other use",
    "cuDriverGetVersion": "asks about the driver: names no object",
    "cuGetErrorName": "translates a status: names no object",
    "cuGetErrorString": "translates a status: names no object",
    "cuGetProcAddress": "hands out functions of the driver: names no object",
    "cuGetExportTable": "hands out undocumented functions of the driver: names no object",
    "cuFlushGPUDirectRDMAWrites": "orders other devices' writes: names no object",
    "cuProfilerInitialize": _PROFILER,
    "cuCoredumpDeregisterStartCallback": "ends a notification; its handle is of no other use",
    "cuCoredumpDeregisterCompleteCallback": "ends a notification; its handle is of no other use",
    "cuCoredumpGetAttribute": _CORE_DUMP,
    "cuCoredumpGetAttributeGlobal": _CORE_DUMP,
    "cuCoredumpSetAttribute": _CORE_DUMP,
    "cuCoredumpSetAttributeGlobal": _CORE_DUMP,
    "cuLogsUnregisterCallback": "ends a notification; its handle is of no other use",
    "cuLogsCurrent": _LOGS,
    "cuLogsDumpToFile": _LOGS,
    "cuLogsDumpToMemory": _LOGS,
    "cuCheckpointOperationComplete": _ANY_PROCESS,
    "cuCheckpointProcessCheckpoint": _ANY_PROCESS,
    "cuCheckpointProcessGetRestoreThreadId": _ANY_PROCESS,
    "cuCheckpointProcessGetState": _ANY_PROCESS,
    "cuCheckpointProcessLock": _ANY_PROCESS,
    "cuCheckpointProcessRestore": _ANY_PROCESS,
    "cuCheckpointProcessUnlock": _ANY_PROCESS,
}
