"""What is known of calls that are alike (``Call.like``), so that it need not be found out for each of them. It holds until a call does more
than give streams work, order it, wait for it, allocate or free memory: the model then forgets it all."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from cuvet.catalog.roles import Kind, Verb

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model.call import Call
    from cuvet.model.objects import Context, Object, Stream

T = TypeVar("T")

MOST = 1 << 13
"""Answers that are remembered."""
_KEEPING = frozenset(
    {
        (verb, kind)
        for verb, kinds in {
            Verb.ON: (Kind.STREAM,),
            Verb.READS: (Kind.MEMORY, Kind.HOST_MEMORY),
            Verb.WRITES: (Kind.MEMORY, Kind.HOST_MEMORY),
            Verb.ALLOCATES: (Kind.MEMORY,),
            Verb.FREES: (Kind.MEMORY,),
            Verb.LAUNCHES: (Kind.FUNCTION, Kind.KERNEL),
            Verb.RECORDS: (Kind.EVENT,),
            Verb.WAITS: (Kind.EVENT,),
            Verb.BLOCKS: (Kind.CONTEXT, Kind.STREAM, Kind.EVENT),
            Verb.QUERIES: (Kind.STREAM, Kind.EVENT),
        }.items()
        for kind in kinds
    }
)
"""What calls do after which it still holds."""


class Alike:
    """By ``Call.like``. ``silent``: the rules that say the same of all calls that are alike (``CallRule.same_for_alike``) say nothing of
    these, and the objects that they name are alive. ``streams``: what they are enqueued on. ``launched``: what they launch. By thread,
    ``calm``: the context that is current where nothing unusual holds (``Model._is_calm``)."""

    def __init__(self) -> None:
        self.silent: dict[Hashable, None] = {}
        self.streams: dict[Hashable, Stream | None] = {}
        self.launched: dict[Hashable, Object | None] = {}
        self.calm: dict[int, Context] = {}

    def keep(self, where: dict[Hashable, T], call: Call, found: T) -> T:
        """What was found out about ``call``."""
        if call.like is not None:
            if len(where) >= MOST:
                where.clear()
            where[call.like] = found
        return found

    def forget(self) -> None:
        self.silent.clear()
        self.streams.clear()
        self.launched.clear()
        self.calm.clear()


@cache
def keeps_alike(entry_point: EntryPoint) -> bool:
    """Whether it holds after calls of the entry point. That they need a current context changes nothing."""
    needs = (Verb.USES, Kind.CONTEXT, "")
    roles = [(role.verb, role.kind) for role in entry_point.roles if (role.verb, role.kind, role.parameter) != needs]
    return bool(roles) and _KEEPING.issuperset(roles)
