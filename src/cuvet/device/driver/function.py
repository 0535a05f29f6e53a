"""Functions and kernels: their attributes, parameters and occupancy."""

from dataclasses import dataclass, field
from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import facts
from cuvet.device.invocation import Invocation, do_nothing, gives, require
from cuvet.device.protocol import Steps
from cuvet.image.cubin import DeviceCode, KernelInfo
from cuvet.kernels import MOST_STEPS, Program, Way


@dataclass(slots=True, eq=False)
class Code:
    """A loaded module or library. ``program``: its PTX, if that is there. ``handles`` are its kernels' handles, ``addresses`` its
    variables', by name; ``module`` is a library's module, 0 if nobody asked for it."""

    contents: DeviceCode
    program: Program | None = None
    handles: dict[str, int] = field(default_factory=dict)
    addresses: dict[str, int] = field(default_factory=dict)
    module: int = 0


@dataclass(slots=True, eq=False)
class Kernel:
    """``owner``: module or library. ``function``: a CUkernel's CUfunction, 0 if nobody asked for it."""

    info: KernelInfo
    owner: int
    contents: DeviceCode
    """What it was found in."""
    attributes: dict[int, int] = field(default_factory=dict)
    """What the program set."""
    program: Program | None = None
    ways: dict[object, tuple[Way, ...]] = field(default_factory=dict)
    """What its launches do, by what they were given."""
    steps: int = MOST_STEPS
    """How far its threads are followed."""
    function: int = 0
    dynamic_shared: int = 0
    """Bytes of dynamic shared memory that a launch may ask for; 0: as many as without asking."""


def dynamic_limit(kernel: Kernel) -> int:
    """Most bytes of dynamic shared memory of a launch."""
    return max(kernel.dynamic_shared, facts.named("MAX_SHARED_MEMORY_PER_BLOCK") - kernel.info.static_shared)


_ATTRIBUTE = "CU_FUNC_ATTRIBUTE_"
_AXES = ("WIDTH", "HEIGHT", "DEPTH")
_USUAL_REGISTERS = 32
"""Of a kernel that is there as PTX only: how many it would have, ptxas decides, which does not run here."""


_NEWEST = catalog().enumerations["CUfunction_attribute"][_ATTRIBUTE + "CLUSTER_SCHEDULING_POLICY_PREFERENCE"]
"""Of this device's driver; headers have more."""


def _attribute(kernel: Kernel, number: int) -> int | None:
    """As an H200 answered (driver 580.159, CUDA 13.0) about kernels whose images say the same. Each has all of its module's constants."""
    info = kernel.info
    values = {
        "MAX_THREADS_PER_BLOCK": min(info.max_threads, facts.named("MAX_THREADS_PER_BLOCK")),
        "SHARED_SIZE_BYTES": info.static_shared,
        "CONST_SIZE_BYTES": kernel.contents.constant,
        "LOCAL_SIZE_BYTES": info.local,
        "NUM_REGS": info.registers or _USUAL_REGISTERS,
        "PTX_VERSION": kernel.contents.arch,
        "BINARY_VERSION": facts.SM,
        "MAX_DYNAMIC_SHARED_SIZE_BYTES": dynamic_limit(kernel),
        "PREFERRED_SHARED_MEMORY_CARVEOUT": -1,
        "CLUSTER_SIZE_MUST_BE_SET": int(any(info.cluster)),
        **{f"REQUIRED_CLUSTER_{axis}": size for axis, size in zip(_AXES, info.cluster, strict=True)},
    }
    name = catalog().enumerator("CUfunction_attribute", number, _ATTRIBUTE)
    return kernel.attributes.get(number, values.get(name, 0)) if name and number <= _NEWEST else None


def _get_attribute(call: Invocation, parameter: str) -> None:
    kernel = call.known(call.process.kernels, parameter)
    value = _attribute(kernel, call["attrib"])
    require(value is not None and call["pi"])
    call.give("pi", value or 0)


cuFuncGetAttribute = partial(_get_attribute, parameter="hfunc")
cuKernelGetAttribute = partial(_get_attribute, parameter="kernel")


def _set_attribute(call: Invocation, parameter: str, new: str) -> None:
    kernel, value = call.known(call.process.kernels, parameter), call.signed(new)
    name = catalog().enumerator("CUfunction_attribute", call["attrib"], _ATTRIBUTE)
    if name == "NON_PORTABLE_CLUSTER_SIZE_ALLOWED":
        value = int(value != 0)
    least, most = _settable(kernel).get(name, (0, (1 << 31) - 1))
    require(call["attrib"] <= _NEWEST and least <= value <= most)
    if name == "MAX_DYNAMIC_SHARED_SIZE_BYTES":
        kernel.dynamic_shared = value
    else:
        kernel.attributes[call["attrib"]] = value


cuFuncSetAttribute = partial(_set_attribute, parameter="hfunc", new="value")
cuKernelSetAttribute = partial(_set_attribute, parameter="kernel", new="val")


def _settable(kernel: Kernel) -> dict[str, tuple[int, int]]:
    """The least and the largest value of attributes that not any natural number fits (NVIDIA H200, driver 580.159, CUDA 13.0)."""
    dynamic = facts.named("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") - kernel.info.static_shared
    return {"MAX_DYNAMIC_SHARED_SIZE_BYTES": (0, dynamic), "PREFERRED_SHARED_MEMORY_CARVEOUT": (-1, 100)}


cuFuncSetCacheConfig = cuFuncSetSharedMemConfig = cuKernelSetCacheConfig = cuFuncLoad = do_nothing
cuFuncIsLoaded = gives(state=lambda _: 1)
cuKernelGetLibrary = gives(pLib=lambda call: call.known(call.process.kernels, "kernel").owner)
cuFuncGetParamCount = gives(paramCount=lambda call: len(call.known(call.process.kernels, "func").info.parameters))
cuKernelGetParamCount = gives(paramCount=lambda call: len(call.known(call.process.kernels, "kernel").info.parameters))


def cuKernelGetFunction(call: Invocation) -> None:
    kernel = call.known(call.process.kernels, "kernel")
    if not kernel.function:
        kernel.function = call.process.handles.issue(Kind.FUNCTION)
        call.process.kernels[kernel.function] = kernel
    call.give("pFunc", kernel.function)


def cuFuncGetModule(call: Invocation) -> None:
    require(call["hmod"])
    call.give("hmod", call.known(call.process.kernels, "hfunc").owner)


def _name(call: Invocation) -> Steps[None]:
    kernel = call.known(call.process.kernels, "hfunc")
    call.give("name", (yield from call.constant(kernel.info.name.encode())))


cuFuncGetName = cuKernelGetName = _name


def _parameter_info(call: Invocation, owner: str) -> None:
    kernel = call.known(call.process.kernels, owner)
    require(call["paramIndex"] < len(kernel.info.parameters))
    described = kernel.info.parameters[call["paramIndex"]]
    call.give("paramOffset", described.offset)
    call.give("paramSize", described.size)


cuFuncGetParamInfo = partial(_parameter_info, owner="func")
cuKernelGetParamInfo = partial(_parameter_info, owner="kernel")


def _blocks(threads: int) -> int:
    """Blocks of that many threads that a multiprocessor holds, as far as threads limit it."""
    per_multiprocessor = facts.named("MAX_THREADS_PER_MULTIPROCESSOR") // max(threads, 1)
    return min(per_multiprocessor, facts.named("MAX_BLOCKS_PER_MULTIPROCESSOR"))


def _occupancy(call: Invocation) -> None:
    threads = call.signed("blockSize")
    require(threads > 0)
    call.give("numBlocks", _blocks(threads))


cuOccupancyMaxActiveBlocksPerMultiprocessor = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags = _occupancy


def _block_size(call: Invocation) -> None:
    kernel = call.known(call.process.kernels, "func")
    most = min(kernel.info.max_threads, facts.named("MAX_THREADS_PER_BLOCK"), call.signed("blockSizeLimit") or 1024)
    call.give("blockSize", most)
    call.give("minGridSize", _blocks(most) * facts.named("MULTIPROCESSOR_COUNT"))


cuOccupancyMaxPotentialBlockSize = cuOccupancyMaxPotentialBlockSizeWithFlags = _block_size


def cuOccupancyAvailableDynamicSMemPerBlock(call: Invocation) -> None:
    blocks = max(call.signed("numBlocks"), 1)
    call.give("dynamicSmemSize", min(facts.named("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR") // blocks, 49152))
