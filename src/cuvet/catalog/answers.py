"""Which statuses are answers: the call was a question that is refused, or all is as the caller wants it already.

A call that ends so has not failed. What a question was refused for is told where the program then uses it.
"""

from cuvet.catalog import results

EVERY = frozenset(range(1, 10_000))
"""Of entry points that programs call only to find something out: whatever the error, it is one of the answers."""

REFUSALS = frozenset(
    {results.INVALID_VALUE, results.INVALID_DEVICE, results.INVALID_IMAGE, results.NO_BINARY_FOR_GPU}
    | {results.INVALID_PTX, results.UNSUPPORTED_PTX_VERSION, results.NOT_FOUND, results.NOT_SUPPORTED}
)
"""There is no such thing, not for this device, or it has no such property. Not: the handle, the context or the process is wrong."""

_ASKS = """
    cuCtxGetApiVersion cuCtxGetDevice cuCtxGetId cuDeviceCanAccessPeer cuDeviceGetAttribute cuDeviceGetExecAffinitySupport
    cuDeviceGetNvSciSyncAttributes cuDeviceGetP2PAttribute cuDeviceGetUuid cuFuncGetParamInfo cuGetErrorName cuGetErrorString
    cuGetExportTable cuGetProcAddress cuKernelGetParamInfo cuLibraryGetGlobal cuLibraryGetManaged cuLibraryGetUnifiedFunction
    cuMemGetHandleForAddressRange cuMemHostGetFlags cuMemRangeGetAttribute cuMemRangeGetAttributes cuModuleGetGlobal
    cuModuleGetSurfRef cuModuleGetTexRef cuPointerGetAttribute cuPointerGetAttributes
    cublasLtMatmulAlgoCheck cublasLtMatmulAlgoGetHeuristic cudnnBackendFinalize ncclCommGetAsyncError
"""
_MAY_BE_REFUSED = """
    cuDeviceGetP2PAtomicCapabilities cuFuncGetAttribute cuFuncGetName cuFuncGetParamCount cuKernelGetAttribute cuKernelGetName
    cuKernelGetParamCount cuMemGetAddressRange cuOccupancyAvailableDynamicSMemPerBlock
    cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    cuOccupancyMaxActiveClusters cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags
    cuOccupancyMaxPotentialClusterSize
    cudaDeviceCanAccessPeer cudaDeviceGetAttribute cudaDeviceGetP2PAtomicCapabilities cudaDeviceGetP2PAttribute
    cudaFuncGetAttributes cudaFuncGetName cudaFuncGetParamCount cudaFuncGetParamInfo cudaGetDriverEntryPoint
    cudaGetDriverEntryPointByVersion cudaGetFuncBySymbol cudaGetKernel cudaHostGetFlags cudaMemRangeGetAttribute
    cudaMemRangeGetAttributes cudaOccupancyAvailableDynamicSMemPerBlock cudaOccupancyMaxActiveBlocksPerMultiprocessor
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaOccupancyMaxActiveClusters
    cudaOccupancyMaxPotentialClusterSize cudaPointerGetAttributes
"""
_LOOKS_UP = "cuKernelGetFunction cuLibraryGetKernel cuLibraryGetKernelCount cuLibraryGetModule cuModuleGetFunction"

ANSWERS: dict[str, frozenset[int]] = {
    **dict.fromkeys(_ASKS.split(), EVERY),
    **dict.fromkeys(_MAY_BE_REFUSED.split(), REFUSALS),
    **dict.fromkeys(
        ("cuEventQuery", "cuStreamQuery", "cudaEventQuery", "cudaStreamQuery"), frozenset({results.NOT_READY})
    ),
    **dict.fromkeys(
        ("cuCtxEnablePeerAccess", "cudaDeviceEnablePeerAccess"), frozenset({results.PEER_ACCESS_ALREADY_ENABLED})
    ),
    **dict.fromkeys(("cuGraphExecUpdate", "cudaGraphExecUpdate"), frozenset({results.GRAPH_EXEC_UPDATE_FAILURE})),
}
"""By entry point, of driver, runtime and libraries."""

ANSWERS_TO_LIBRARIES: dict[str, frozenset[int]] = dict.fromkeys(_LOOKS_UP.split(), REFUSALS)
"""What the runtime calls of the driver to answer a question about a kernel, and to launch one. In a library that hides the names
of the runtime it is linked with, nothing tells which it was: a refusal is no finding there, and listed as a failure. In the
program's own code it is a finding."""

ASK_WHETHER_INITIALISED = frozenset({"cuCtxGetCurrent", "cuDeviceGetCount"})
"""What programs call to find out whether the driver is initialised: CUDA_ERROR_NOT_INITIALIZED answers them if cuInit then succeeds."""


def answers(name: str, *, to_library: bool = False) -> frozenset[int]:
    """Statuses with which the entry point of that name answers; with ``to_library``, those too that answer a library."""
    return ANSWERS.get(name) or (ANSWERS_TO_LIBRARIES.get(name, frozenset()) if to_library else frozenset())
