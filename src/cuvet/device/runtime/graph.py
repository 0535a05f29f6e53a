"""Graph nodes whose description differs from the driver's."""

from __future__ import annotations

from cuvet.catalog import runtime as catalog
from cuvet.device.invocation import read
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import RuntimeCall, pack, release
from cuvet.device.runtime.copy import box
from cuvet.device.runtime.device import ensure_context
from cuvet.device.runtime.launch import kernel

_UNIFIED = 4  # CUmemorytype


def _node(call: RuntimeCall, name: str, described: int, *more: int) -> Steps[int]:
    words = (call["pGraphNode"], call["graph"], call["pDependencies"], call["numDependencies"], described)
    return (yield from call.driver(name, *words, *more))


def _kernel_parameters(call: RuntimeCall, address: int) -> Steps[tuple[int, int]]:
    """(status, address of the CUDA_KERNEL_NODE_PARAMS that says what the cudaKernelNodeParams does)."""
    given = yield from call.struct(address, "cudaKernelNodeParams")
    status, handle = yield from kernel(call, given["func"])
    if status:
        return status, 0
    sizes = {f"{what}Dim{axis.upper()}": given[f"{what}Dim.{axis}"] for what in ("grid", "block") for axis in "xyz"}
    more = {name: given[name] for name in ("sharedMemBytes", "kernelParams", "extra")}
    return 0, (yield from call.lay_down(pack("CUDA_KERNEL_NODE_PARAMS", kern=handle, **sizes, **more)))


def cudaGraphAddKernelNode(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, described = yield from _kernel_parameters(call, call["pNodeParams"])
    return status or (yield from _node(call, "cuGraphAddKernelNode", described))


def cudaGraphExecKernelNodeSetParams(call: RuntimeCall) -> Steps[int]:
    return (yield from _change_kernel(call, "cuGraphExecKernelNodeSetParams", call["hGraphExec"]))


def cudaGraphKernelNodeSetParams(call: RuntimeCall) -> Steps[int]:
    return (yield from _change_kernel(call, "cuGraphKernelNodeSetParams"))


def _change_kernel(call: RuntimeCall, name: str, *graph: int) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    status, described = yield from _kernel_parameters(call, call["pNodeParams"])
    return status or (yield from call.driver(name, *graph, call["node"], described))


def _copy_parameters(call: RuntimeCall, address: int) -> Steps[int]:
    given = yield from call.struct(address, "cudaMemcpy3DParms")
    return (yield from call.lay_down(box(call, given)))


def _line_parameters(call: RuntimeCall) -> Steps[int]:
    data = pack(
        "CUDA_MEMCPY3D", srcMemoryType=_UNIFIED, srcDevice=call["src"], dstMemoryType=_UNIFIED, dstDevice=call["dst"],
        WidthInBytes=call["count"], Height=1, Depth=1,
    )  # fmt: skip
    return (yield from call.lay_down(data))


def _set_parameters(call: RuntimeCall, address: int) -> Steps[int]:
    """cudaMemsetParams and CUDA_MEMSET_NODE_PARAMS are the same."""
    size = catalog().struct("cudaMemsetParams", release(call.major)).bytes
    return (yield from call.lay_down((yield from read(address, size))))


def cudaGraphAddMemcpyNode(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    described = yield from _copy_parameters(call, call["pCopyParams"])
    return (yield from _node(call, "cuGraphAddMemcpyNode", described, (yield from _context(call))))


def cudaGraphAddMemcpyNode1D(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    described = yield from _line_parameters(call)
    return (yield from _node(call, "cuGraphAddMemcpyNode", described, (yield from _context(call))))


def cudaGraphAddMemsetNode(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    described = yield from _set_parameters(call, call["pMemsetParams"])
    return (yield from _node(call, "cuGraphAddMemsetNode", described, (yield from _context(call))))


def _context(call: RuntimeCall) -> Steps[int]:
    _, context = yield from call.ask("cuCtxGetCurrent")
    return context


def cudaGraphExecMemcpyNodeSetParams(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    described = yield from _copy_parameters(call, call["pNodeParams"])
    words = (call["hGraphExec"], call["node"], described, (yield from _context(call)))
    return (yield from call.driver("cuGraphExecMemcpyNodeSetParams", *words))


def cudaGraphExecMemcpyNodeSetParams1D(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    described = yield from _line_parameters(call)
    words = (call["hGraphExec"], call["node"], described, (yield from _context(call)))
    return (yield from call.driver("cuGraphExecMemcpyNodeSetParams", *words))


def cudaGraphExecMemsetNodeSetParams(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    if status:
        return status
    described = yield from _set_parameters(call, call["pNodeParams"])
    words = (call["hGraphExec"], call["node"], described, (yield from _context(call)))
    return (yield from call.driver("cuGraphExecMemsetNodeSetParams", *words))
