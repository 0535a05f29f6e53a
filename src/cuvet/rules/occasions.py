"""Questions about a call without which whole rules cannot fire (``CallRule.only_when``): they are cheaper than the rules."""

from cuvet.model import Call, ModelView
from cuvet.model.accesses import COPIES, SETS, WRITES, Access, accesses
from cuvet.model.objects import Context
from cuvet.rules.frees import ENTRY_POINTS

_ORDINARY = frozenset({"linear", "pitched"})
"""Variants of memory that every call may use and free as soon as it is allocated."""
_TOUCHING = COPIES | SETS | WRITES


def after_fork(call: Call, model: ModelView) -> bool:
    """Whether the process was forked after CUDA was initialised."""
    return model.initialised_before_fork is not None


def after_reset(call: Call, model: ModelView) -> bool:
    """Whether a device was reset."""
    return bool(model.resets)


def after_failure(call: Call, model: ModelView) -> bool:
    """Whether an earlier call of the thread failed."""
    return model.last_failure(call.thread) is not None


def in_host_function(call: Call, model: ModelView) -> bool:
    """Whether a host function makes the call."""
    return call.in_host_function


def while_capturing(call: Call, model: ModelView) -> bool:
    """Whether a capture is in progress."""
    return bool(model.captures())


def without_context(call: Call, model: ModelView) -> bool:
    """Whether no context is known to be current, or one that was destroyed."""
    current = model.current_context(call)
    return current is None or current.destroyed_by is not None


def while_looking_for_races(call: Call, model: ModelView) -> bool:
    """Whether it is remembered what work touches."""
    return model.touches is not None


UNUSUAL = frozenset(
    {after_fork, after_reset, in_host_function, while_capturing, without_context, while_looking_for_races}
)
"""Those that most calls of most programs are not made on."""


def is_usual(call: Call, model: ModelView) -> bool:
    """Whether none of ``UNUSUAL`` holds: asked once for all of them."""
    if model.initialised_before_fork is not None or model.resets or call.in_host_function:
        return False
    return model.touches is None and not while_capturing(call, model) and not without_context(call, model)


def beyond_ordinary_memory(call: Call, model: ModelView) -> bool:
    """Whether a call that frees, copies or sets memory may be about something else than the start of living memory of the device, all
    inside of such memory, and memory of the host that CUDA does not know."""
    name = call.entry_point.name
    if name in ENTRY_POINTS:
        if name == "cuMemFreeHost":
            return True
        address = call.arg("dptr")
        memory = model.living_allocation_at(address)
        return memory is None or memory.handle != address or memory.variant not in _ORDINARY
    if name not in _TOUCHING:
        return True
    stream = model.stream_on(call)
    context = model.current_context(call) if stream is None else model.context_of(call, stream)
    if context is None:
        return True
    for access in accesses(call):  # noqa: SIM110  # every copy comes here: a generator takes longer
        if not _is_ordinary(access, context, model):
            return True
    return False


def _is_ordinary(access: Access, context: Context, model: ModelView) -> bool:
    address = access.address
    if model.living_host_memory_at(address) is not None:
        return False
    memory = model.living_allocation_at(address)
    if access.side == "host":
        return address != 0 and memory is None
    return (
        memory is not None
        and memory.variant in _ORDINARY
        and memory.device == context.device
        and address + access.size <= memory.handle + memory.size
    )
