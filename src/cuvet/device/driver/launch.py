"""Kernel launches: checked and ordered; the kernel itself does not run."""

from __future__ import annotations

from dataclasses import dataclass

from cuvet.device import facts, status
from cuvet.device.driver.function import Kernel, dynamic_limit
from cuvet.device.driver.graph import Node, enqueue
from cuvet.device.invocation import BadAddress, Invocation, read
from cuvet.device.protocol import Steps


@dataclass(frozen=True, slots=True)
class _Configuration:
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


def refusal(grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int, kernel: Kernel | None) -> int:
    """Status of a launch with this configuration: 0 if it fits the device (NVIDIA H200, driver 580.159, CUDA 13.0:
    launch_bad_config)."""
    most_grid = [facts.named(f"MAX_GRID_DIM_{axis}") for axis in "XYZ"]
    most_block = [facts.named(f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ"]
    threads = block[0] * block[1] * block[2]
    if any(not 0 < size <= most for size, most in zip((*grid, *block), (*most_grid, *most_block), strict=True)):
        return status.INVALID_VALUE
    if threads > facts.named("MAX_THREADS_PER_BLOCK"):
        return status.INVALID_VALUE
    shared_limit = dynamic_limit(kernel) if kernel else facts.named("MAX_SHARED_MEMORY_PER_BLOCK")
    return status.INVALID_VALUE if shared_bytes > shared_limit else status.SUCCESS


def cuLaunchKernel(call: Invocation) -> Steps[int]:
    return (yield from _launch(call, _configuration(call)))


def cuLaunchCooperativeKernel(call: Invocation) -> Steps[int]:
    return (yield from _launch(call, _configuration(call)))


def _configuration(call: Invocation) -> _Configuration:
    grid, block = (
        (call[f"{what}DimX"] & 0xFFFFFFFF, call[f"{what}DimY"] & 0xFFFFFFFF, call[f"{what}DimZ"] & 0xFFFFFFFF)
        for what in ("grid", "block")
    )
    return _Configuration(grid, block, call["sharedMemBytes"] & 0xFFFFFFFF)


def cuLaunchKernelEx(call: Invocation) -> Steps[int]:
    grid, block = (tuple(call.member("config", f"{what}Dim{axis}") for axis in "XYZ") for what in ("grid", "block"))
    shared = call.member("config", "sharedMemBytes")
    configuration = _Configuration((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]), shared)
    return (yield from _launch(call, configuration, call.member("config", "hStream")))


def _launch(call: Invocation, configuration: _Configuration, stream: int | None = None) -> Steps[int]:
    kernel = call.process.kernels.get(call["f"])
    if kernel is None:
        return status.INVALID_HANDLE
    refused = refusal(configuration.grid, configuration.block, configuration.shared_bytes, kernel)
    if refused:
        return refused
    queue = call.queue(call["hStream"] if stream is None else stream)

    def run() -> Steps[int]:
        call.process.timeline.launch(queue)
        return status.SUCCESS
        yield

    return (yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_KERNEL", run), queue))


def kernel_pointers(call: Invocation) -> Steps[tuple[int, ...]]:
    """Arguments of 8 bytes of the kernel that the call launches: those that may be addresses of memory."""
    kernel = call.process.kernels.get(call["f"])
    if kernel is None or not call["kernelParams"]:
        return ()
    found = []
    try:
        slots = yield from read(call["kernelParams"], 8 * len(kernel.info.parameters))
        for position, parameter in enumerate(kernel.info.parameters):
            if parameter.size == 8:
                slot = int.from_bytes(slots[8 * position : 8 * position + 8], "little")
                found.append(int.from_bytes((yield from read(slot, 8)), "little"))
    except BadAddress:
        return ()
    return tuple(found)
