"""Questions about a call without which whole rules cannot fire (``CallRule.only_when``): they are cheaper than the rules."""

from cuvet.model import Call, ModelView


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
