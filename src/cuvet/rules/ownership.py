"""What the rules about objects of different contexts share."""

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model import Call, Context, ModelView, Object, Stream
from cuvet.model.capturing import OF_ALL_STREAMS, whole_context


def role_of(call: Call, verb: Verb, kinds: frozenset[Kind]) -> Role | None:
    """The call's first role of that verb and one of these kinds."""
    return next((role for role in call.entry_point.roles if role.verb is verb and role.kind in kinds), None)


def stream_and_context(call: Call, model: ModelView) -> tuple[Stream, Context] | None:
    """The stream that the call enqueues work on and its context; None unless both are known and alive."""
    stream = model.stream_on(call)
    context = None if stream is None else model.context_of(call, stream)
    if stream is None or context is None or not stream.alive or not context.alive:
        return None
    return stream, context


def streams_and_context(call: Call, model: ModelView) -> tuple[Object, Context] | None:
    """As ``stream_and_context``; of a call about all streams of a context, that context stands for them."""
    if call.name not in OF_ALL_STREAMS:
        return stream_and_context(call, model)
    context = whole_context(call, model)
    return None if context is None or not context.alive else (context, context)


def living_context(found: Object | None) -> Context | None:
    """The context that a living object belongs to; None if it is dead or that is not known."""
    if found is None or not found.alive or found.context is None or not found.context.alive:
        return None
    return found.context


def module_context(function: Object) -> Context | None:
    """The context into which the module of a function was loaded; None for kernels, and if it is not known."""
    module = function.parent
    return living_context(module) if module is not None and module.kind is Kind.MODULE else None


def belongs(found: Object, context: Context) -> str:
    """``event#1 belongs to context#2 (device 1)``, for ``because``."""
    device = "" if context.device is None else f" (device {context.device})"
    return f"{found.name} belongs to {context.name}{device}"


def primary_and_user(one: Context, other: Context) -> bool:
    """Whether they are the primary and another context of the same device."""
    return one.device is not None and one.device == other.device and one.primary != other.primary
