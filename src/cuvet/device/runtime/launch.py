"""Kernels and variables by the host's names for them, and launches."""

from __future__ import annotations

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as catalog
from cuvet.device.invocation import read, write, write_word
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import INVALID_VALUE, RuntimeCall, error, pack, release
from cuvet.device.runtime.device import ensure_context
from cuvet.device.runtime.registration import Binary

_INVALID_FUNCTION = error("cudaErrorInvalidDeviceFunction")
_INVALID_SYMBOL = error("cudaErrorInvalidSymbol")


def _load(call: RuntimeCall, binary: Binary) -> Steps[int]:
    """Load a fatbin when it is needed first."""
    if binary.library:
        return 0
    status, library = yield from call.ask("cuLibraryLoadData", binary.wrapper, 0, 0, 0, 0, 0, 0)
    if not status:
        binary.library = library
    return status


def kernel(call: RuntimeCall, function: int) -> Steps[tuple[int, int]]:
    """(status, CUkernel) of the host's name for a kernel, or of a cudaKernel_t."""
    symbol = call.registry.functions.get(function)
    if symbol is None:
        return (0, function) if function in call.process.kernels else (_INVALID_FUNCTION, 0)
    if not symbol.handle:
        status = yield from _load(call, symbol.binary)
        if status:
            return status, 0
        status, symbol.handle = yield from call.ask("cuLibraryGetKernel", symbol.binary.library, symbol.name)
        if status:
            symbol.handle = 0
            return _INVALID_FUNCTION, 0
    return 0, symbol.handle


def variable_address(call: RuntimeCall, host: int) -> Steps[tuple[int, int, int]]:
    """(status, address, bytes) of the host's name for a device variable."""
    symbol = call.registry.variables.get(host)
    if symbol is None:
        return _INVALID_SYMBOL, 0, 0
    if not symbol.handle:
        status = yield from _load(call, symbol.binary)
        if status:
            return status, 0, 0
        size = yield from call.scratch()
        status, symbol.handle = yield from call.ask("cuLibraryGetGlobal", size, symbol.binary.library, symbol.name)
        if status:
            symbol.handle = 0
            return _INVALID_SYMBOL, 0, 0
    return 0, symbol.handle, symbol.size


def cudaGetSymbolAddress(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, address, _ = yield from variable_address(call, call["symbol"])
    if not status:
        yield from write_word(call["devPtr"], address)
    return status


def cudaGetSymbolSize(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, _, size = yield from variable_address(call, call["symbol"])
    if not status:
        yield from write_word(call["size"], size)
    return status


def _give_kernel(call: RuntimeCall, output: str, function: str) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, call[function])
    if not status:
        yield from write_word(call[output], handle)
    return status


def __cudaGetKernel(call: RuntimeCall) -> Steps[int]:
    return (yield from _give_kernel(call, "kernel", "hostFun"))


def cudaGetKernel(call: RuntimeCall) -> Steps[int]:
    return (yield from _give_kernel(call, "kernelPtr", "entryFuncAddr"))


def cudaGetFuncBySymbol(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, call["symbolPtr"])
    return status or (yield from call.driver("cuKernelGetFunction", call["functionPtr"], handle))


def _launch(call: RuntimeCall, function: int, name: str, *more: int) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, function)
    if status:
        return status
    grid, block = call.integers("gridDim"), call.integers("blockDim")
    return (yield from call.driver(name, handle, *grid, *block, call["sharedMem"], call["stream"], call["args"], *more))


def __cudaLaunchKernel(call: RuntimeCall) -> Steps[int]:
    return (yield from _launch(call, call["kernel"], "cuLaunchKernel", 0))


def cudaLaunchKernel(call: RuntimeCall) -> Steps[int]:
    return (yield from _launch(call, call["func"], "cuLaunchKernel", 0))


def cudaLaunchCooperativeKernel(call: RuntimeCall) -> Steps[int]:
    return (yield from _launch(call, call["func"], "cuLaunchCooperativeKernel"))


def cudaLaunchKernelExC(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, call["func"])
    if status:
        return status
    given = yield from call.struct(call["config"], "cudaLaunchConfig_t")
    sizes = {f"{what}Dim{axis.upper()}": given[f"{what}Dim.{axis}"] for what in ("grid", "block") for axis in "xyz"}
    data = pack(
        "CUlaunchConfig", **sizes, sharedMemBytes=given["dynamicSmemBytes"], hStream=given["stream"],
        attrs=given["attrs"], numAttrs=given["numAttrs"],
    )  # fmt: skip
    config = yield from call.lay_down(data)
    return (yield from call.driver("cuLaunchKernelEx", config, handle, call["args"], 0))


_FUNCTION_ATTRIBUTES = {
    "sharedSizeBytes": "SHARED_SIZE_BYTES",
    "constSizeBytes": "CONST_SIZE_BYTES",
    "localSizeBytes": "LOCAL_SIZE_BYTES",
    "maxThreadsPerBlock": "MAX_THREADS_PER_BLOCK",
    "numRegs": "NUM_REGS",
    "ptxVersion": "PTX_VERSION",
    "binaryVersion": "BINARY_VERSION",
    "cacheModeCA": "CACHE_MODE_CA",
    "maxDynamicSharedSizeBytes": "MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "preferredShmemCarveout": "PREFERRED_SHARED_MEMORY_CARVEOUT",
    "clusterDimMustBeSet": "CLUSTER_SIZE_MUST_BE_SET",
    "requiredClusterWidth": "REQUIRED_CLUSTER_WIDTH",
    "requiredClusterHeight": "REQUIRED_CLUSTER_HEIGHT",
    "requiredClusterDepth": "REQUIRED_CLUSTER_DEPTH",
    "clusterSchedulingPolicyPreference": "CLUSTER_SCHEDULING_POLICY_PREFERENCE",
    "nonPortableClusterSizeAllowed": "NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
}


def cudaFuncGetAttributes(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, call["func"])
    if status:
        return status
    numbers = driver_catalog().enumerations["CUfunction_attribute"]
    layout = catalog().struct("cudaFuncAttributes", release(call.major))
    data = bytearray(layout.bytes)
    target = yield from call.scratch()
    for member, attribute in _FUNCTION_ATTRIBUTES.items():
        status = yield from call.driver(
            "cuKernelGetAttribute", target, numbers[f"CU_FUNC_ATTRIBUTE_{attribute}"], handle, call.device
        )
        if status:
            return status
        offset, size, _ = layout.fields[member]
        value = int.from_bytes((yield from read(target, 4)), "little", signed=True)
        data[offset : offset + size] = value.to_bytes(size, "little", signed=True)
    yield from write(call["attr"], bytes(data))
    return 0


def cudaFuncSetAttribute(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, call["func"])
    return status or (yield from call.driver("cuKernelSetAttribute", call["attr"], call["value"], handle, call.device))


def cudaFuncSetCacheConfig(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, call["func"])
    return status or (yield from call.driver("cuKernelSetCacheConfig", handle, call["cacheConfig"], call.device))


def cudaOccupancyMaxActiveBlocksPerMultiprocessor(call: RuntimeCall) -> Steps[int]:
    return (yield from _occupancy(call, 0))


def cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(call: RuntimeCall) -> Steps[int]:
    return (yield from _occupancy(call, call["flags"]))


def _occupancy(call: RuntimeCall, flags: int) -> Steps[int]:
    if not call["numBlocks"]:
        return INVALID_VALUE
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, call["func"])
    name = "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"
    words = (call["numBlocks"], handle, call["blockSize"], call["dynamicSMemSize"], flags)
    return status or (yield from call.driver(name, *words))


def cudaOccupancyAvailableDynamicSMemPerBlock(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, handle = yield from kernel(call, call["func"])
    words = (call["dynamicSmemSize"], handle, call["numBlocks"], call["blockSize"])
    return status or (yield from call.driver("cuOccupancyAvailableDynamicSMemPerBlock", *words))
