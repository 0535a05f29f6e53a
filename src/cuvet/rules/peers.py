"""What the rules about peer access share."""

from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Context


def peers(call: Call, model: ModelView) -> tuple[Context, Context] | None:
    """The current context and the one that the call names as its peer; None unless both are known and alive."""
    current = model.current_context(call)
    peer = model.object_of(call, call.entry_point.index["peerContext"], Kind.CONTEXT)
    if current is None or not current.alive or not isinstance(peer, Context) or not peer.alive:
        return None
    return current, peer
