"""Kernel launches: checked and ordered; the kernel itself does not run, but a few of its threads are followed."""

from dataclasses import dataclass

from cuvet.device import facts, status
from cuvet.device.driver.fault import of_launch
from cuvet.device.driver.function import Kernel, dynamic_limit
from cuvet.device.driver.graph import enqueue
from cuvet.device.driver.graph_body import Node
from cuvet.device.invocation import BadAddress, Invocation, read
from cuvet.device.protocol import Steps

_BUFFER, _BUFFER_SIZE = 1, 2
"""CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE."""
_MOST_BUFFER = 1 << 16
_MOST_AT_ONCE = 4096
"""Bytes of the program's stack that are read to get all arguments in one step."""


@dataclass(frozen=True, slots=True)
class _Configuration:
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


def refusal(grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int, kernel: Kernel | None) -> int:
    """Status of a launch with this configuration: 0 if it fits the device (measured: launch_bad_config)."""
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
    kernel = call.known(call.process.kernels, "f")
    refused = refusal(configuration.grid, configuration.block, configuration.shared_bytes, kernel)
    if refused:
        return refused
    queue = call.queue(call["hStream"] if stream is None else stream)

    waits = call.process.timeline.busy(queue)
    call.fault = of_launch(call, kernel, configuration.grid, configuration.block, waits)

    def run() -> Steps[int]:
        call.process.timeline.launch(queue)
        return status.SUCCESS
        yield

    return (yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_KERNEL", run), queue))


def arguments(call: Invocation) -> Steps[tuple[bytes, ...]]:
    """The arguments of the kernel that the call launches, in order; none if they cannot be read."""
    kernel = call.process.kernels.get(call["f"])
    parameters = kernel.info.parameters if kernel else ()
    try:
        if parameters and call["kernelParams"]:
            return (yield from _pointed_at(call["kernelParams"], [each.size for each in parameters]))
        if parameters and "extra" in call.entry_point.index and call["extra"]:
            data = yield from _buffer(call["extra"])
            return tuple(data[each.offset : each.offset + each.size] for each in parameters)
    except BadAddress:
        pass
    return ()


def _pointed_at(address: int, sizes: list[int]) -> Steps[tuple[bytes, ...]]:
    """What an array of pointers points to. BadAddress if one points to nothing."""
    data = yield from read(address, 8 * len(sizes))
    slots = [int.from_bytes(data[start : start + 8], "little") for start in range(0, len(data), 8)]
    start, end = min(slots), max(slot + size for slot, size in zip(slots, sizes, strict=True))
    if end - start <= _MOST_AT_ONCE:
        try:
            data = yield from read(start, end - start)
            return tuple(data[slot - start :][:size] for slot, size in zip(slots, sizes, strict=True))
        except BadAddress:
            pass  # something between them cannot be read
    found = []
    for slot, size in zip(slots, sizes, strict=True):
        found.append((yield from read(slot, size)))
    return tuple(found)


def _buffer(address: int) -> Steps[bytes]:
    """The arguments in one buffer that CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE tell of."""
    data = yield from read(address, 8 * 5)
    words = [int.from_bytes(data[start : start + 8], "little") for start in range(0, len(data), 8)]
    given = dict(zip(words[0:4:2], words[1:4:2], strict=True))
    if _BUFFER not in given or _BUFFER_SIZE not in given:
        raise BadAddress(hex(address))
    size = yield from read(given[_BUFFER_SIZE], 8)
    return (yield from read(given[_BUFFER], min(int.from_bytes(size, "little"), _MOST_BUFFER)))
