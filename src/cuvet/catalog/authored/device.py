"""Devices, the driver itself, errors, profiling, logs, core dumps and checkpoints."""

from cuvet.catalog.authored.words import *

ROLES: Roles = {
    "cuDeviceRegisterAsyncNotification": (calls_back("callbackFunc"),),
    **alike("cuCoredumpRegisterStartCallback cuCoredumpRegisterCompleteCallback", calls_back("callback")),
    "cuLogsRegisterCallback": (calls_back("callbackFunc"),),
    **alike("cuProfilerStart cuProfilerStop", in_current_context()),
}

NO_ROLE: ByReason = {
    "asks about a device: names no object": """
        cuDeviceCanAccessPeer cuDeviceComputeCapability cuDeviceGet cuDeviceGetAttribute cuDeviceGetByPCIBusId
        cuDeviceGetCliqueCount cuDeviceGetCliqueInfo cuDeviceGetCount cuDeviceGetExecAffinitySupport
        cuDeviceGetFabricClusterUuid cuDeviceGetGraphMemAttribute cuDeviceGetHostAtomicCapabilities cuDeviceGetLuid
        cuDeviceGetName cuDeviceGetNvSciSyncAttributes cuDeviceGetP2PAtomicCapabilities cuDeviceGetP2PAttribute
        cuDeviceGetPCIBusId cuDeviceGetProperties cuDeviceGetTexture1DLinearMaxWidth cuDeviceGetUuid cuDeviceTotalMem
        cuGLGetDevices cuVDPAUGetDevice
    """,
    "resets a device's counters of graph memory: names no object": "cuDeviceSetGraphMemAttribute",
    "gives unused graph memory of a device back: names no object": "cuDeviceGraphMemTrim",
    "ends a notification; its handle is of no other use": """
        cuDeviceUnregisterAsyncNotification cuCoredumpDeregisterStartCallback cuCoredumpDeregisterCompleteCallback
        cuLogsUnregisterCallback
    """,
    "asks about the driver: names no object": "cuDriverGetVersion",
    "translates a status: names no object": "cuGetErrorName cuGetErrorString",
    "hands out functions of the driver: names no object": "cuGetProcAddress",
    "hands out undocumented functions of the driver: names no object": "cuGetExportTable",
    "orders other devices' writes: names no object": "cuFlushGPUDirectRDMAWrites",
    "switches profiling: names no object": "cuProfilerInitialize",
    "reads or sets how core dumps are made: names no object": """
        cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal
    """,
    "reads the driver's log: names no object": "cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory",
    "acts on a whole process, given by its id: names no object": """
        cuCheckpointOperationComplete cuCheckpointProcessCheckpoint cuCheckpointProcessGetRestoreThreadId
        cuCheckpointProcessGetState cuCheckpointProcessLock cuCheckpointProcessRestore cuCheckpointProcessUnlock
    """,
}
