"""Kernels and variables by the host's names for them, and launches."""

from functools import partial

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as catalog
from cuvet.device.invocation import Refused, read, write, write_word
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import INVALID_VALUE, RuntimeCall, attribute_name, error, pack, release
from cuvet.device.runtime.device import ensure_context
from cuvet.device.runtime.registration import Symbol

_INVALID_FUNCTION = error("cudaErrorInvalidDeviceFunction")
_INVALID_SYMBOL = error("cudaErrorInvalidSymbol")


def _look_up(call: RuntimeCall, symbol: Symbol, unknown: int, name: str, *words: int) -> Steps[int]:
    """Handle of a symbol, asked of the driver's ``name`` when it is needed first, as its fatbin is loaded then. Refused with ``unknown``
    if the fatbin has no such symbol."""
    if not symbol.handle:
        binary = symbol.binary
        if not binary.library:
            binary.library = yield from call.ask("cuLibraryLoadData", binary.wrapper, 0, 0, 0, 0, 0, 0)
        try:
            symbol.handle = yield from call.ask(name, *words, binary.library, symbol.name)
        except Refused:
            raise Refused(unknown) from None
    return symbol.handle


def kernel(call: RuntimeCall, function: int) -> Steps[int]:
    """CUkernel of the host's name for a kernel, or of a cudaKernel_t. Refused if there is none."""
    symbol = call.registry.functions.get(function)
    if symbol is not None:
        return (yield from _look_up(call, symbol, _INVALID_FUNCTION, "cuLibraryGetKernel"))
    if function not in call.process.kernels:
        raise Refused(_INVALID_FUNCTION)
    return function


def variable(call: RuntimeCall, host: int) -> Steps[tuple[int, int]]:
    """(address, bytes) of the host's name for a device variable. Refused if there is none."""
    symbol = call.registry.variables.get(host)
    if symbol is None:
        raise Refused(_INVALID_SYMBOL)
    size = yield from call.scratch()
    return (yield from _look_up(call, symbol, _INVALID_SYMBOL, "cuLibraryGetGlobal", size)), symbol.size


def cudaGetSymbolAddress(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    address, _ = yield from variable(call, call["symbol"])
    yield from write_word(call["devPtr"], address)
    return 0


def cudaGetSymbolSize(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    _, size = yield from variable(call, call["symbol"])
    yield from write_word(call["size"], size)
    return 0


def _give_kernel(call: RuntimeCall, output: str, function: str) -> Steps[int]:
    yield from ensure_context(call)
    yield from write_word(call[output], (yield from kernel(call, call[function])))
    return 0


__cudaGetKernel = partial(_give_kernel, output="kernel", function="hostFun")
cudaGetKernel = partial(_give_kernel, output="kernelPtr", function="entryFuncAddr")


def cudaGetFuncBySymbol(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    handle = yield from kernel(call, call["symbolPtr"])
    return (yield from call.driver("cuKernelGetFunction", call["functionPtr"], handle))


def _launch(call: RuntimeCall, function: int, name: str, *more: int) -> Steps[int]:
    yield from ensure_context(call)
    handle = yield from kernel(call, function)
    grid, block = call.integers("gridDim"), call.integers("blockDim")
    return (yield from call.driver(name, handle, *grid, *block, call["sharedMem"], call["stream"], call["args"], *more))


def __cudaLaunchKernel(call: RuntimeCall) -> Steps[int]:
    return (yield from _launch(call, call["kernel"], "cuLaunchKernel", 0))


def cudaLaunchKernel(call: RuntimeCall) -> Steps[int]:
    return (yield from _launch(call, call["func"], "cuLaunchKernel", 0))


def cudaLaunchCooperativeKernel(call: RuntimeCall) -> Steps[int]:
    return (yield from _launch(call, call["func"], "cuLaunchCooperativeKernel"))


def cudaLaunchKernelExC(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    handle = yield from kernel(call, call["func"])
    given = yield from call.struct(call["config"], "cudaLaunchConfig_t")
    sizes = {f"{what}Dim{axis.upper()}": given[f"{what}Dim.{axis}"] for what in ("grid", "block") for axis in "xyz"}
    data = pack(
        "CUlaunchConfig", **sizes, sharedMemBytes=given["dynamicSmemBytes"], hStream=given["stream"],
        attrs=given["attrs"], numAttrs=given["numAttrs"],
    )  # fmt: skip
    config = yield from call.lay_down(data)
    return (yield from call.driver("cuLaunchKernelEx", config, handle, call["args"], 0))


_ATTRIBUTES_OF_THAT_NAME = """
    sharedSizeBytes constSizeBytes localSizeBytes maxThreadsPerBlock numRegs ptxVersion binaryVersion
    cacheModeCA maxDynamicSharedSizeBytes requiredClusterWidth requiredClusterHeight requiredClusterDepth
    clusterSchedulingPolicyPreference nonPortableClusterSizeAllowed
""".split()
_FUNCTION_ATTRIBUTES = {member: attribute_name(member) for member in _ATTRIBUTES_OF_THAT_NAME} | {
    "preferredShmemCarveout": "PREFERRED_SHARED_MEMORY_CARVEOUT",
    "clusterDimMustBeSet": "CLUSTER_SIZE_MUST_BE_SET",
}


def cudaFuncGetAttributes(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    handle = yield from kernel(call, call["func"])
    numbers = driver_catalog().enumerations["CUfunction_attribute"]
    layout = catalog().struct("cudaFuncAttributes", release(call.major))
    data = bytearray(layout.bytes)
    target = yield from call.scratch()
    for member, attribute in _FUNCTION_ATTRIBUTES.items():
        number = numbers[f"CU_FUNC_ATTRIBUTE_{attribute}"]
        yield from call.driver("cuKernelGetAttribute", target, number, handle, call.device)
        offset, size, _ = layout.fields[member]
        value = int.from_bytes((yield from read(target, 4)), "little", signed=True)
        data[offset : offset + size] = value.to_bytes(size, "little", signed=True)
    yield from write(call["attr"], bytes(data))
    return 0


def cudaFuncSetAttribute(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    handle = yield from kernel(call, call["func"])
    return (yield from call.driver("cuKernelSetAttribute", call["attr"], call["value"], handle, call.device))


def cudaFuncSetCacheConfig(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    handle = yield from kernel(call, call["func"])
    return (yield from call.driver("cuKernelSetCacheConfig", handle, call["cacheConfig"], call.device))


def cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(call: RuntimeCall) -> Steps[int]:
    return (yield from _occupancy(call, call["flags"]))


def _occupancy(call: RuntimeCall, flags: int) -> Steps[int]:
    if not call["numBlocks"]:
        return INVALID_VALUE
    yield from ensure_context(call)
    handle = yield from kernel(call, call["func"])
    name = "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"
    words = (call["numBlocks"], handle, call["blockSize"], call["dynamicSMemSize"], flags)
    return (yield from call.driver(name, *words))


cudaOccupancyMaxActiveBlocksPerMultiprocessor = partial(_occupancy, flags=0)


def cudaOccupancyAvailableDynamicSMemPerBlock(call: RuntimeCall) -> Steps[int]:
    yield from ensure_context(call)
    handle = yield from kernel(call, call["func"])
    words = (call["dynamicSmemSize"], handle, call["numBlocks"], call["blockSize"])
    return (yield from call.driver("cuOccupancyAvailableDynamicSMemPerBlock", *words))
