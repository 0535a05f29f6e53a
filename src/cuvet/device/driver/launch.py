"""Kernel launches: checked and ordered; the kernel itself does not run, but a few of its threads are followed."""

from cuvet.catalog import driver as catalog
from cuvet.catalog.launch_attributes import MOST
from cuvet.device import facts
from cuvet.device.driver.event import record
from cuvet.device.driver.fault import of_launch
from cuvet.device.driver.function import Kernel, dynamic_limit
from cuvet.device.driver.graph import enqueue
from cuvet.device.driver.graph_body import Node
from cuvet.device.invocation import BadAddress, Invocation, read, read_words, require
from cuvet.device.protocol import Steps
from cuvet.kernels import Dimensions
from cuvet.model import Call
from cuvet.model.naming import events_recorded, member

_BUFFER, _BUFFER_SIZE = 1, 2
"""CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE."""
_MOST_BUFFER = 1 << 16
_MOST_AT_ONCE = 4096
"""Bytes of the program's stack that are read to get all arguments in one step."""


def _check(grid: Dimensions, block: Dimensions, shared_bytes: int, kernel: Kernel) -> None:
    """Refused if a launch with this configuration does not fit the device (measured: launch_bad_config)."""
    for what, sizes in (("GRID", grid), ("BLOCK", block)):
        require(all(0 < size <= facts.named(f"MAX_{what}_DIM_{axis}") for axis, size in zip("XYZ", sizes, strict=True)))
    require(block[0] * block[1] * block[2] <= facts.named("MAX_THREADS_PER_BLOCK"))
    require(shared_bytes <= dynamic_limit(kernel))


def _launch(call: Invocation) -> Steps[None]:
    def member(name: str) -> int:
        return call.member("config", name) if "config" in call.entry_point.index else call[name] & 0xFFFFFFFF

    grid, block = ((member(f"{what}DimX"), member(f"{what}DimY"), member(f"{what}DimZ")) for what in ("grid", "block"))
    kernel = call.known(call.process.kernels, "f")
    _check(grid, block, member("sharedMemBytes"), kernel)
    timeline = call.process.timeline
    queue = call.queue(call["hStream"] if "hStream" in call.entry_point.index else member("hStream"))
    call.fault = call.fault or of_launch(call, kernel, grid, block, timeline.busy(queue))
    yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_KERNEL", lambda: timeline.launch(queue)), queue)
    for event in events_recorded(call.call):
        yield from record(call, event, queue)


cuLaunchKernel = cuLaunchKernelEx = cuLaunchCooperativeKernel = _launch


def read_attributes(call: Call) -> Steps[None]:
    """Put the attributes of a launch where the model looks for them."""
    address, count = member(call, "config", "attrs"), member(call, "config", "numAttrs")
    if address and count:
        size = catalog().structs["CUlaunchAttribute"].bytes
        call.inputs[len(call.entry_point.parameters)] = yield from read(address, min(count, MOST) * size)


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
    slots = yield from read_words(address, len(sizes))
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
    words = yield from read_words(address, 5)
    given = dict(zip(words[0:4:2], words[1:4:2], strict=True))
    if _BUFFER not in given or _BUFFER_SIZE not in given:
        raise BadAddress(hex(address))
    (size,) = yield from read_words(given[_BUFFER_SIZE], 1)
    return (yield from read(given[_BUFFER], min(size, _MOST_BUFFER)))
