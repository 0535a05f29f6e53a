"""Kernels and variables by the host's names for them, and launches."""

from functools import partial

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as catalog
from cuvet.device import facts
from cuvet.device.invocation import Refused, read, require, write, write_word
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import RuntimeCall, error, pack, release
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


def cudaGetSymbolAddress(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    address, _ = yield from variable(call, call["symbol"])
    yield from write_word(call["devPtr"], address)


def cudaGetSymbolSize(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    _, size = yield from variable(call, call["symbol"])
    yield from write_word(call["size"], size)


def _give_kernel(call: RuntimeCall, output: str, function: str) -> Steps[None]:
    yield from ensure_context(call)
    yield from write_word(call[output], (yield from kernel(call, call[function])))


__cudaGetKernel = partial(_give_kernel, output="kernel", function="hostFun")
cudaGetKernel = partial(_give_kernel, output="kernelPtr", function="entryFuncAddr")


def _launch(call: RuntimeCall, name: str = "cuLaunchKernel", function: str = "func", extra: int = 1) -> Steps[None]:
    """``extra``: how many words, all 0, come behind the arguments."""
    yield from ensure_context(call)
    handle = yield from kernel(call, call[function])
    shape = (*call.integers("gridDim"), *call.integers("blockDim"), call["sharedMem"])
    yield from call.driver(name, handle, *shape, call["stream"], call["args"], *[0] * extra)


cudaLaunchKernel = _launch
cudaLaunchCooperativeKernel = partial(_launch, name="cuLaunchCooperativeKernel", extra=0)
__cudaLaunchKernel = partial(_launch, function="kernel")


def cudaLaunchKernelExC(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    handle = yield from kernel(call, call["func"])
    given = yield from call.struct(call["config"], "cudaLaunchConfig_t")
    sizes = {f"{what}Dim{axis.upper()}": given[f"{what}Dim.{axis}"] for what in ("grid", "block") for axis in "xyz"}
    data = pack(
        "CUlaunchConfig", **sizes, sharedMemBytes=given["dynamicSmemBytes"], hStream=given["stream"],
        attrs=given["attrs"], numAttrs=given["numAttrs"],
    )  # fmt: skip
    config = yield from call.lay_down(data)
    yield from call.driver("cuLaunchKernelEx", config, handle, call["args"], 0)


_ATTRIBUTES_OF_THAT_NAME = """
    sharedSizeBytes constSizeBytes localSizeBytes maxThreadsPerBlock numRegs ptxVersion binaryVersion
    cacheModeCA maxDynamicSharedSizeBytes requiredClusterWidth requiredClusterHeight requiredClusterDepth
    clusterSchedulingPolicyPreference nonPortableClusterSizeAllowed
""".split()
_FUNCTION_ATTRIBUTES = {member: facts.attribute_name(member) for member in _ATTRIBUTES_OF_THAT_NAME} | {
    "preferredShmemCarveout": "PREFERRED_SHARED_MEMORY_CARVEOUT",
    "clusterDimMustBeSet": "CLUSTER_SIZE_MUST_BE_SET",
}


def cudaFuncGetAttributes(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    handle = yield from kernel(call, call["func"])
    numbers = driver_catalog().enumerations["CUfunction_attribute"]
    target = yield from call.scratch()
    found = {}
    for member, attribute in _FUNCTION_ATTRIBUTES.items():
        number = numbers[f"CU_FUNC_ATTRIBUTE_{attribute}"]
        yield from call.driver("cuKernelGetAttribute", target, number, handle, call.device)
        found[member] = int.from_bytes((yield from read(target, 4)), "little", signed=True)
    yield from write(call["attr"], catalog().pack("cudaFuncAttributes", found, release(call.major)))


def _about_kernel(call: RuntimeCall, words: str, function: str = "func", needed: str = "") -> Steps[None]:
    """Call the driver's entry point, the first of ``words``, with the parameters that the others name. ``kernel`` stands for the kernel of
    the parameter ``function``, ``current`` for the device. ``needed``: the parameter that must not be NULL."""
    require(not needed or call[needed])
    yield from ensure_context(call)
    special = {"kernel": (yield from kernel(call, call[function])), "current": call.device}
    name, *given = words.split()
    yield from call.driver(name, *(special[word] if word in special else call.get(word) for word in given))


_BLOCKS = "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags numBlocks kernel blockSize dynamicSMemSize flags"
_SHARED = "cuOccupancyAvailableDynamicSMemPerBlock dynamicSmemSize kernel numBlocks blockSize"
cudaGetFuncBySymbol = partial(_about_kernel, words="cuKernelGetFunction functionPtr kernel", function="symbolPtr")
cudaFuncSetAttribute = partial(_about_kernel, words="cuKernelSetAttribute attr value kernel current")
cudaFuncSetCacheConfig = partial(_about_kernel, words="cuKernelSetCacheConfig kernel cacheConfig current")
_active_blocks = partial(_about_kernel, words=_BLOCKS, needed="numBlocks")
cudaOccupancyMaxActiveBlocksPerMultiprocessor = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags = _active_blocks
cudaOccupancyAvailableDynamicSMemPerBlock = partial(_about_kernel, words=_SHARED)
