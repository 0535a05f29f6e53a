"""Graph nodes whose description differs from the driver's."""

from collections.abc import Callable
from functools import partial

from cuvet.catalog import runtime as catalog
from cuvet.device.invocation import read
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import RuntimeCall, pack, release
from cuvet.device.runtime.copy import box
from cuvet.device.runtime.device import ensure_context
from cuvet.device.runtime.launch import kernel

_UNIFIED = 4  # CUmemorytype


def _node(call: RuntimeCall, name: str, described: int, *more: int) -> Steps[None]:
    words = (call["pGraphNode"], call["graph"], call["pDependencies"], call["numDependencies"], described)
    yield from call.driver(name, *words, *more)


def _kernel_parameters(call: RuntimeCall, address: int) -> Steps[int]:
    """Address of the CUDA_KERNEL_NODE_PARAMS that says what the cudaKernelNodeParams does."""
    given = yield from call.struct(address, "cudaKernelNodeParams")
    handle = yield from kernel(call, given["func"])
    sizes = {f"{what}Dim{axis.upper()}": given[f"{what}Dim.{axis}"] for what in ("grid", "block") for axis in "xyz"}
    more = {name: given[name] for name in ("sharedMemBytes", "kernelParams", "extra")}
    return (yield from call.lay_down(pack("CUDA_KERNEL_NODE_PARAMS", kern=handle, **sizes, **more)))


def cudaGraphAddKernelNode(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    described = yield from _kernel_parameters(call, call["pNodeParams"])
    yield from _node(call, "cuGraphAddKernelNode", described)


def _change_kernel(call: RuntimeCall) -> Steps[None]:
    yield from ensure_context(call)
    described = yield from _kernel_parameters(call, call["pNodeParams"])
    graph = [call["hGraphExec"]] if "hGraphExec" in call.index else []
    yield from call.driver(call.entry_point.name.replace("cuda", "cu", 1), *graph, call["node"], described)


cudaGraphKernelNodeSetParams = cudaGraphExecKernelNodeSetParams = _change_kernel


def _given(call: RuntimeCall) -> int:
    """Address of the struct that describes the node."""
    return next(call[name] for name in ("pCopyParams", "pMemsetParams", "pNodeParams") if name in call.index)


def _copy_parameters(call: RuntimeCall) -> Steps[int]:
    given = yield from call.struct(_given(call), "cudaMemcpy3DParms")
    return (yield from call.lay_down(box(call, given)))


def _line_parameters(call: RuntimeCall) -> Steps[int]:
    data = pack(
        "CUDA_MEMCPY3D", srcMemoryType=_UNIFIED, srcDevice=call["src"], dstMemoryType=_UNIFIED, dstDevice=call["dst"],
        WidthInBytes=call["count"], Height=1, Depth=1,
    )  # fmt: skip
    return (yield from call.lay_down(data))


def _set_parameters(call: RuntimeCall) -> Steps[int]:
    """cudaMemsetParams and CUDA_MEMSET_NODE_PARAMS are the same."""
    size = catalog().struct("cudaMemsetParams", release(call.major)).bytes
    return (yield from call.lay_down((yield from read(_given(call), size))))


def _add_in_context(call: RuntimeCall, what: str, describe: Callable[[RuntimeCall], Steps[int]]) -> Steps[None]:
    """Add a node that copies or sets: the driver has to be told in which context."""
    yield from ensure_context(call)
    described = yield from describe(call)
    yield from _node(call, f"cuGraphAdd{what}Node", described, (yield from call.ask("cuCtxGetCurrent")))


cudaGraphAddMemcpyNode = partial(_add_in_context, what="Memcpy", describe=_copy_parameters)
cudaGraphAddMemcpyNode1D = partial(_add_in_context, what="Memcpy", describe=_line_parameters)
cudaGraphAddMemsetNode = partial(_add_in_context, what="Memset", describe=_set_parameters)


def _change_in_context(call: RuntimeCall, what: str, describe: Callable[[RuntimeCall], Steps[int]]) -> Steps[None]:
    yield from ensure_context(call)
    described = yield from describe(call)
    words = (call["hGraphExec"], call["node"], described, (yield from call.ask("cuCtxGetCurrent")))
    yield from call.driver(f"cuGraphExec{what}NodeSetParams", *words)


cudaGraphExecMemcpyNodeSetParams = partial(_change_in_context, what="Memcpy", describe=_copy_parameters)
cudaGraphExecMemcpyNodeSetParams1D = partial(_change_in_context, what="Memcpy", describe=_line_parameters)
cudaGraphExecMemsetNodeSetParams = partial(_change_in_context, what="Memset", describe=_set_parameters)
