"""What each enumerator of ``cudaError_t`` means; those that are the driver's error under another name point to it."""

from __future__ import annotations

from functools import partial

from cuvet.knowledge.cause import Meaning
from cuvet.knowledge.meanings._reference import described
from cuvet.rules.evidence import measured

_means = partial(described, source="CUDA Runtime API, Data types used by CUDA Runtime, cudaError")


_OWN: dict[str, Meaning] = {
    "cudaErrorInvalidConfiguration": _means(
        "A launch asks for more threads, blocks or shared memory than the device can ever give.",
        measured("launches with too many threads, no blocks or too much shared memory: 1 instead", "launch_bad_config"),
        beliefs=("Every impossible launch gives 9: it depends on the release, and 1 is what was measured.",),
    ),
    "cudaErrorVersionTranslation": _means(
        "The driver is newer than the runtime, and described a graph node in a way that the runtime does not understand."
    ),
    "cudaErrorInvalidPitchValue": _means(
        "A pitch is out of range.",
        measured("cudaMemcpy2D with a pitch less than the width: 12", "memcpy2d_past_end"),
    ),
    "cudaErrorInvalidSymbol": _means(
        "The symbol is not the name or the identifier of a variable that the program has for this device."
    ),
    "cudaErrorInvalidHostPointer": _means("Not returned since CUDA 10.1: a host pointer was not one."),
    "cudaErrorInvalidDevicePointer": _means("Not returned since CUDA 10.1: a device pointer was not one."),
    "cudaErrorInvalidTexture": _means("The texture is none."),
    "cudaErrorInvalidTextureBinding": _means("The texture is not bound."),
    "cudaErrorInvalidChannelDescriptor": _means(
        "The channel descriptor has a format or a dimension that is not allowed."
    ),
    "cudaErrorInvalidMemcpyDirection": _means("The direction of a copy is none of cudaMemcpyKind."),
    "cudaErrorAddressOfConstant": _means("Not returned since CUDA 3.1: the address of a constant variable was taken."),
    "cudaErrorTextureFetchFailed": _means("Not returned since CUDA 3.1: device emulation could not read a texture."),
    "cudaErrorTextureNotBound": _means(
        "Not returned since CUDA 3.1: device emulation found a texture that was not bound."
    ),
    "cudaErrorSynchronizationError": _means("Not returned since CUDA 3.1: synchronising failed in device emulation."),
    "cudaErrorInvalidFilterSetting": _means("Linear filtering was asked for a texture that is not of floats."),
    "cudaErrorInvalidNormSetting": _means("Reading as normalised float was asked for a type that cannot be."),
    "cudaErrorMixedDeviceExecution": _means(
        "Not returned since CUDA 3.1: device code and emulated device code were mixed."
    ),
    "cudaErrorNotYetImplemented": _means("Not returned by releases: the call is not written yet."),
    "cudaErrorMemoryValueTooLarge": _means(
        "Not returned since CUDA 3.1: an address of device emulation was beyond 32 bits."
    ),
    "cudaErrorInsufficientDriver": _means(
        "The driver is older than this runtime library supports.",
        beliefs=(
            "The toolkit is too old: the driver is. nvidia-smi shows the newest CUDA that it supports.",
            "A driver is installed, so it cannot be: where libcuda is missing or cannot be loaded, the version counts as 0.",
        ),
    ),
    "cudaErrorInvalidSurface": _means("The surface is none."),
    "cudaErrorDuplicateVariableName": _means(
        "Several device variables of the program, in different files, have one name."
    ),
    "cudaErrorDuplicateTextureName": _means("Several textures of the program, in different files, have one name."),
    "cudaErrorDuplicateSurfaceName": _means("Several surfaces of the program, in different files, have one name."),
    "cudaErrorIncompatibleDriverContext": _means(
        "The context that is current, made by the driver API, is not one that the runtime can use: of an old version, not"
        " primary where it must be, or destroyed."
    ),
    "cudaErrorMissingConfiguration": _means("A launch by the old interface was not configured by cudaConfigureCall."),
    "cudaErrorPriorLaunchFailure": _means("Not returned since CUDA 3.1: an earlier launch failed in device emulation."),
    "cudaErrorLaunchMaxDepthExceeded": _means(
        "A kernel's launch of a kernel would be nested deeper than is supported."
    ),
    "cudaErrorLaunchFileScopedTex": _means(
        "A kernel that a kernel launches uses texture references; only texture objects are supported there."
    ),
    "cudaErrorLaunchFileScopedSurf": _means(
        "A kernel that a kernel launches uses surface references; only surface objects are supported there."
    ),
    "cudaErrorSyncDepthExceeded": _means(
        "cudaDeviceSynchronize in a kernel is nested deeper than cudaLimitDevRuntimeSyncDepth. From compute capability 9.0 on it"
        " is not supported at all."
    ),
    "cudaErrorLaunchPendingCountExceeded": _means(
        "Kernels have launched more kernels that are not yet running than cudaLimitDevRuntimePendingLaunchCount allows."
    ),
    "cudaErrorInvalidDeviceFunction": _means(
        "The kernel does not exist for this device: it is not in the program, or not compiled for this architecture.",
        beliefs=(
            "The kernel's code is wrong: it is missing, usually as the build's list of architectures lacks this GPU.",
        ),
    ),
    "cudaErrorSoftwareValidityNotEstablished": _means(
        "The runtime's tests of itself and of the driver failed.",
        beliefs=("The GPU is broken: the test is of software; a replaced libcuda fails it too.",),
    ),
    "cudaErrorStartupFailure": _means("The runtime failed to start, for a reason inside of it."),
    "cudaErrorApiFailureBase": _means(
        "Not returned since CUDA 4.1: errors of the driver that the runtime did not know were added to it."
    ),
}

_DRIVERS: dict[str, str] = {
    "cudaSuccess": "CUDA_SUCCESS",
    "cudaErrorInvalidValue": "CUDA_ERROR_INVALID_VALUE",
    "cudaErrorMemoryAllocation": "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorInitializationError": "CUDA_ERROR_NOT_INITIALIZED",
    "cudaErrorCudartUnloading": "CUDA_ERROR_DEINITIALIZED",
    "cudaErrorProfilerDisabled": "CUDA_ERROR_PROFILER_DISABLED",
    "cudaErrorProfilerNotInitialized": "CUDA_ERROR_PROFILER_NOT_INITIALIZED",
    "cudaErrorProfilerAlreadyStarted": "CUDA_ERROR_PROFILER_ALREADY_STARTED",
    "cudaErrorProfilerAlreadyStopped": "CUDA_ERROR_PROFILER_ALREADY_STOPPED",
    "cudaErrorStubLibrary": "CUDA_ERROR_STUB_LIBRARY",
    "cudaErrorCallRequiresNewerDriver": "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
    "cudaErrorDevicesUnavailable": "CUDA_ERROR_DEVICE_UNAVAILABLE",
    "cudaErrorNoDevice": "CUDA_ERROR_NO_DEVICE",
    "cudaErrorInvalidDevice": "CUDA_ERROR_INVALID_DEVICE",
    "cudaErrorDeviceNotLicensed": "CUDA_ERROR_DEVICE_NOT_LICENSED",
    "cudaErrorInvalidKernelImage": "CUDA_ERROR_INVALID_IMAGE",
    "cudaErrorDeviceUninitialized": "CUDA_ERROR_INVALID_CONTEXT",
    "cudaErrorMapBufferObjectFailed": "CUDA_ERROR_MAP_FAILED",
    "cudaErrorUnmapBufferObjectFailed": "CUDA_ERROR_UNMAP_FAILED",
    "cudaErrorArrayIsMapped": "CUDA_ERROR_ARRAY_IS_MAPPED",
    "cudaErrorAlreadyMapped": "CUDA_ERROR_ALREADY_MAPPED",
    "cudaErrorNoKernelImageForDevice": "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "cudaErrorAlreadyAcquired": "CUDA_ERROR_ALREADY_ACQUIRED",
    "cudaErrorNotMapped": "CUDA_ERROR_NOT_MAPPED",
    "cudaErrorNotMappedAsArray": "CUDA_ERROR_NOT_MAPPED_AS_ARRAY",
    "cudaErrorNotMappedAsPointer": "CUDA_ERROR_NOT_MAPPED_AS_POINTER",
    "cudaErrorECCUncorrectable": "CUDA_ERROR_ECC_UNCORRECTABLE",
    "cudaErrorUnsupportedLimit": "CUDA_ERROR_UNSUPPORTED_LIMIT",
    "cudaErrorDeviceAlreadyInUse": "CUDA_ERROR_CONTEXT_ALREADY_IN_USE",
    "cudaErrorPeerAccessUnsupported": "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
    "cudaErrorInvalidPtx": "CUDA_ERROR_INVALID_PTX",
    "cudaErrorInvalidGraphicsContext": "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT",
    "cudaErrorNvlinkUncorrectable": "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "cudaErrorJitCompilerNotFound": "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
    "cudaErrorUnsupportedPtxVersion": "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "cudaErrorJitCompilationDisabled": "CUDA_ERROR_JIT_COMPILATION_DISABLED",
    "cudaErrorUnsupportedExecAffinity": "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY",
    "cudaErrorUnsupportedDevSideSync": "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
    "cudaErrorContained": "CUDA_ERROR_CONTAINED",
    "cudaErrorInsufficientLoaderVersion": "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION",
    "cudaErrorInvalidSource": "CUDA_ERROR_INVALID_SOURCE",
    "cudaErrorFileNotFound": "CUDA_ERROR_FILE_NOT_FOUND",
    "cudaErrorSharedObjectSymbolNotFound": "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
    "cudaErrorSharedObjectInitFailed": "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
    "cudaErrorOperatingSystem": "CUDA_ERROR_OPERATING_SYSTEM",
    "cudaErrorInvalidResourceHandle": "CUDA_ERROR_INVALID_HANDLE",
    "cudaErrorIllegalState": "CUDA_ERROR_ILLEGAL_STATE",
    "cudaErrorLossyQuery": "CUDA_ERROR_LOSSY_QUERY",
    "cudaErrorSymbolNotFound": "CUDA_ERROR_NOT_FOUND",
    "cudaErrorNotReady": "CUDA_ERROR_NOT_READY",
    "cudaErrorIllegalAddress": "CUDA_ERROR_ILLEGAL_ADDRESS",
    "cudaErrorLaunchOutOfResources": "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "cudaErrorLaunchTimeout": "CUDA_ERROR_LAUNCH_TIMEOUT",
    "cudaErrorLaunchIncompatibleTexturing": "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING",
    "cudaErrorPeerAccessAlreadyEnabled": "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
    "cudaErrorPeerAccessNotEnabled": "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
    "cudaErrorSetOnActiveProcess": "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
    "cudaErrorContextIsDestroyed": "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    "cudaErrorAssert": "CUDA_ERROR_ASSERT",
    "cudaErrorTooManyPeers": "CUDA_ERROR_TOO_MANY_PEERS",
    "cudaErrorHostMemoryAlreadyRegistered": "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
    "cudaErrorHostMemoryNotRegistered": "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
    "cudaErrorHardwareStackError": "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "cudaErrorIllegalInstruction": "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "cudaErrorMisalignedAddress": "CUDA_ERROR_MISALIGNED_ADDRESS",
    "cudaErrorInvalidAddressSpace": "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "cudaErrorInvalidPc": "CUDA_ERROR_INVALID_PC",
    "cudaErrorLaunchFailure": "CUDA_ERROR_LAUNCH_FAILED",
    "cudaErrorCooperativeLaunchTooLarge": "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
    "cudaErrorTensorMemoryLeak": "CUDA_ERROR_TENSOR_MEMORY_LEAK",
    "cudaErrorNotPermitted": "CUDA_ERROR_NOT_PERMITTED",
    "cudaErrorNotSupported": "CUDA_ERROR_NOT_SUPPORTED",
    "cudaErrorSystemNotReady": "CUDA_ERROR_SYSTEM_NOT_READY",
    "cudaErrorSystemDriverMismatch": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    "cudaErrorCompatNotSupportedOnDevice": "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    "cudaErrorMpsConnectionFailed": "CUDA_ERROR_MPS_CONNECTION_FAILED",
    "cudaErrorMpsRpcFailure": "CUDA_ERROR_MPS_RPC_FAILURE",
    "cudaErrorMpsServerNotReady": "CUDA_ERROR_MPS_SERVER_NOT_READY",
    "cudaErrorMpsMaxClientsReached": "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",
    "cudaErrorMpsMaxConnectionsReached": "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",
    "cudaErrorMpsClientTerminated": "CUDA_ERROR_MPS_CLIENT_TERMINATED",
    "cudaErrorCdpNotSupported": "CUDA_ERROR_CDP_NOT_SUPPORTED",
    "cudaErrorCdpVersionMismatch": "CUDA_ERROR_CDP_VERSION_MISMATCH",
    "cudaErrorStreamCaptureUnsupported": "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    "cudaErrorStreamCaptureInvalidated": "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
    "cudaErrorStreamCaptureMerge": "CUDA_ERROR_STREAM_CAPTURE_MERGE",
    "cudaErrorStreamCaptureUnmatched": "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
    "cudaErrorStreamCaptureUnjoined": "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
    "cudaErrorStreamCaptureIsolation": "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
    "cudaErrorStreamCaptureImplicit": "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
    "cudaErrorCapturedEvent": "CUDA_ERROR_CAPTURED_EVENT",
    "cudaErrorStreamCaptureWrongThread": "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
    "cudaErrorTimeout": "CUDA_ERROR_TIMEOUT",
    "cudaErrorGraphExecUpdateFailure": "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
    "cudaErrorExternalDevice": "CUDA_ERROR_EXTERNAL_DEVICE",
    "cudaErrorInvalidClusterSize": "CUDA_ERROR_INVALID_CLUSTER_SIZE",
    "cudaErrorFunctionNotLoaded": "CUDA_ERROR_FUNCTION_NOT_LOADED",
    "cudaErrorInvalidResourceType": "CUDA_ERROR_INVALID_RESOURCE_TYPE",
    "cudaErrorInvalidResourceConfiguration": "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
    "cudaErrorStreamDetached": "CUDA_ERROR_STREAM_DETACHED",
    "cudaErrorGraphRecaptureFailure": "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE",
    "cudaErrorFabricNotReady": "CUDA_ERROR_FABRIC_NOT_READY",
    "cudaErrorUnknown": "CUDA_ERROR_UNKNOWN",
}
"""The names of both APIs that are one error (one number in ``driver_types.h`` and ``cuda.h``)."""

MEANINGS: dict[str, Meaning] = _OWN | {name: Meaning(text="", same_as=other) for name, other in _DRIVERS.items()}
