"""What a process leaves when it ends."""

from collections.abc import Iterator

from cuvet.catalog.kinds import OWNED
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Allocation, Call, MemoryPool, ModelView, Object, Stream


def left(model: ModelView) -> Iterator[tuple[Object, int]]:
    """What is alive at the end of the process and was the program's to end; each has the call that made it, and says for how many that are
    alike it stands."""
    for kind in sorted(OWNED):
        for found, count in model.living(kind):
            if found.created_by is not None and not _given(found):
                yield found, count


def _given(found: Object) -> bool:
    """Whether the object was not the program's to end."""
    return (
        (isinstance(found, Stream) and found.builtin)
        or (isinstance(found, MemoryPool) and found.default)
        or (isinstance(found, Allocation) and found.variant in ("global", "graph"))
        or bool(getattr(found, "child", False))
        or (found.created_by is not None and _returns(found.created_by, found.kind))
    )


def _returns(call: Call, kind: Kind) -> bool:
    """Whether the call only hands out an object that CUDA owns."""
    return any(role.kind is kind and role.verb is Verb.RETURNS for role in call.entry_point.roles)
