"""Launches of kernels that certainly fail, and the calls that find out."""

from dataclasses import dataclass
from pathlib import Path

from cuvet.catalog import EntryPoint, Kind, Verb
from cuvet.catalog import results as status
from cuvet.device.driver.function import Kernel
from cuvet.device.invocation import Invocation
from cuvet.kernels import PAGE_BITS, Dimensions, Way, follow
from cuvet.model import Allocation, Call, Context, Outcome
from cuvet.rules.mappings import mappings

_PAGE = 1 << PAGE_BITS
_FAR = 32 << 20
"""Bytes from all memory of CUDA at which an address that nobody knows has no memory. The driver's own memory may be nearer."""
_ADDRESS_SPACE = 1 << 47
_FREED_AT_ONCE = frozenset({"linear", "pitched"})
"""Allocations whose memory is gone when they are freed; stream-ordered memory goes back to its pool (measured:
launch_freed_malloc, use_after_freeasync)."""
_STREAM_ORDERED = "stream-ordered"
_WAITING_COPIES = frozenset({"cuMemcpyDtoH", "cuMemcpyAtoH"})
_REMEMBERED = 64
_STEPS_OF_LONG = 1000
"""Instructions of a thread that are followed if the kernel was once too long."""


@dataclass(frozen=True, slots=True)
class Fault:
    """``launch`` runs a kernel that gives ``context`` the error ``status``."""

    launch: Call
    context: Context
    status: int


def of_launch(call: Invocation, kernel: Kernel, grid: Dimensions, block: Dimensions, waits: bool) -> int:
    """The error that the kernel certainly gives its context; 0 if it gives none, or that is not certain. Kernels that are
    captured or launched on another context's stream are not looked at. ``waits``: other work runs first."""
    context, stream = call.model.current_context(call.call), call.model.stream_on(call.call)
    if kernel.program is None or context is None or stream is None or stream.context is not context or stream.capture:
        return status.SUCCESS
    for way in _ways(kernel, call.arguments, grid, block):
        if any(_is_nowhere(call, context, address) for address in way.addresses):
            return status.ILLEGAL_ADDRESS
        if way.trapped:
            return way.trapped
        if waits:
            _remember_uses(call, context, way)
    return status.SUCCESS


def _remember_uses(call: Invocation, context: Context, way: Way) -> None:
    """What will happen if memory is freed before the launch that uses it has begun; only stream-ordered memory can be."""
    uses = call.process.uses
    if len(uses) > _REMEMBERED:
        call.process.uses = uses = {memory: use for memory, use in uses.items() if memory.alive}
    for address in way.addresses:
        memory = call.model.allocation_at(address)
        if memory is not None and memory.alive and memory.variant == _STREAM_ORDERED:
            uses[memory] = Fault(call.call, context, status.ILLEGAL_ADDRESS)


def _ways(kernel: Kernel, arguments: tuple[bytes, ...], grid: Dimensions, block: Dimensions) -> tuple[Way, ...]:
    key = (arguments, grid, block)
    found = kernel.ways.get(key)
    if found is None and kernel.program is not None:
        found = follow(kernel.program, kernel.info.name, arguments, grid, block, kernel.steps)
        if not all(way.whole for way in found):
            kernel.steps = _STEPS_OF_LONG
        if len(kernel.ways) >= _REMEMBERED:
            kernel.ways.clear()
        kernel.ways[key] = found
    return found or ()


# Where there is no memory. Measured: launch_null_pointer, sticky_error,
# launch_freed_malloc, launch_host_pointer, launch_memory_of_other_device, oob_write.


def _is_nowhere(call: Invocation, context: Context, address: int) -> bool:
    """Whether a kernel in the context certainly has no memory at the address. The GPU maps whole pages: where any memory that it
    can reach shares a page with the address, there is some."""
    known = call.model.allocation_at(address)
    if known is not None and known.alive and not _is_foreign(context, known):
        return False
    if _is_mapped(call, context, address) or call.model.host_memory_at(address) is not None:
        return False
    if known is None:
        return address < _PAGE or _is_of_host(call, address) or _is_far(call, address)
    return known.alive or _is_gone(call, known)


def _is_mapped(call: Invocation, context: Context, address: int) -> bool:
    """Whether the address shares a page with memory that the context can reach."""
    model, page = call.model, address >> PAGE_BITS << PAGE_BITS
    near = model.overlapping_allocations(page, _PAGE)
    foreign = {each.handle for each in near if _is_foreign(context, each)}
    if len(foreign) < len(near) or model.overlapping_host_memory(page, _PAGE):
        return True
    return call.process.occupied(page, _PAGE, foreign)


def _is_foreign(context: Context, memory: Allocation) -> bool:
    """Whether it is another device's, and access to that was not enabled."""
    if memory.variant not in _FREED_AT_ONCE or memory.device is None or memory.device == context.device:
        return False
    return all(peer.device != memory.device for peer in context.peers)


def _is_gone(call: Invocation, memory: Allocation) -> bool:
    """Whether it was freed by itself, and nothing was allocated since, for which the driver may have used the address again."""
    freed = memory.destroyed_by
    if freed is None or memory.variant not in _FREED_AT_ONCE or memory.freed_on or memory.killed_by:
        return False
    return all(
        each.created_by is not None and each.created_by.number < freed.number
        for each in call.model.objects(Kind.MEMORY)
    )


def _is_of_host(call: Invocation, address: int) -> bool:
    """Whether it is memory of the program that CUDA knows nothing about. This device cannot access that."""
    try:
        lines = Path(f"/proc/{call.process.pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(each.readable and each.start <= address < each.end for each in mappings(tuple(lines)))


def _is_far(call: Invocation, address: int) -> bool:
    """Whether it is far from all memory that CUDA knows."""
    start, size = max(address - _FAR, 0), 2 * _FAR
    if address >= _ADDRESS_SPACE or call.process.occupied(start, size, set()):
        return False
    return not (call.model.overlapping_allocations(start, size) or call.model.overlapping_host_memory(start, size))


# When it shows.


def keep(call: Invocation) -> None:
    """The call was made: a launch that fails, or the call that makes an earlier one fail."""
    if call.fault and (context := call.model.current_context(call.call)) is not None:
        call.process.faults.append(Fault(call.call, context, call.fault))
    if call.entry_point.name == "cuMemFree" and call.process.uses:
        _freed(call)


def _freed(call: Invocation) -> None:
    """cuMemFree does not wait for those who use stream-ordered memory (measured:
    destroy_default_stream_memory_pending)."""
    memory = call.model.allocation_at(call["dptr"])
    use = None if memory is None or memory.alive else call.process.uses.pop(memory, None)
    if use is not None and not call.model.finished(use.launch) and not _is_mapped(call, use.context, call["dptr"]):
        call.process.faults.append(use)


def shown(call: Invocation, *, awaited: bool) -> int:
    """The call succeeded, as far as it goes; the error that it returns if the host has thereby waited for a launch that failed.
    ``awaited``: for its own work, and that alone."""
    process, model = call.process, call.model
    if not process.faults or not (awaited or _waits(call.entry_point)):
        return status.SUCCESS
    process.faults = [fault for fault in process.faults if fault.context.alive and fault.context.error is None]
    context = model.current_context(call.call)
    for fault in process.faults:
        if fault.context is context and (fault.launch is call.call if awaited else model.finished(fault.launch)):
            model.observe(call.call, Outcome(fault.status))
            process.told.learn(call, fault.status)
            return fault.status
    return status.SUCCESS


def _waits(entry_point: EntryPoint) -> bool:
    """Whether the host waits for earlier work, or learns that it is done."""
    if entry_point.name == "cuMemFree" or entry_point.name in _WAITING_COPIES:
        return True
    return any(role.verb in (Verb.BLOCKS, Verb.QUERIES) for role in entry_point.roles)
