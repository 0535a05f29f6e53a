"""Objects that are ended after the context that they were made in, where neither was seen made."""

from cuvet.catalog import Kind
from cuvet.catalog.kinds import OF_CONTEXT
from cuvet.source.calls import Meaning
from cuvet.source.paths.judging import ended_after_context
from cuvet.source.paths.trace import Guards, SourceCall
from cuvet.source.paths.world import World
from cuvet.source.program import Function, Value


class EndedContext:
    """``by`` is the call that destroyed a context that was not seen made, while no other was made current; None if one may be."""

    def __init__(self, function: Function, world: World) -> None:
        self._function = function
        self._world = world
        self.by: SourceCall | None = None

    def follow(self, call: SourceCall, found: Meaning) -> None:
        """What is ended after the context, and was not seen made, was made in it."""
        kinds = {role.kind for _, role in found.ended}
        if Kind.CONTEXT in kinds:
            unseen = call.args[found.taken.index(found.ended[0][0])] not in self._world.made_by
            self.by = call if unseen else None
        elif not kinds & OF_CONTEXT or call.written.name.startswith("cuda"):
            self.by = None
        elif self.by is not None and self.by.written.start < call.written.start:
            self._judge(self.by, call, found)

    def _judge(self, first: SourceCall, call: SourceCall, found: Meaning) -> None:
        (at, role), *_ = found.ended
        lvalue = call.written.argument(at)
        ended = self._world.model.find(role.kind, call.args[found.taken.index(at)])
        if ended is None or ended.created_by is not None:
            return
        around, before = self._others(call.guards, lvalue), self._others(first.guards, first.written.argument(0))
        if around[: len(before)] == before:
            self._world.report(ended_after_context(ended, call, first), call, unless=first)

    def _others(self, guards: Guards, lvalue: Value) -> Guards:
        """The branches that do not ask what the lvalue holds."""
        return tuple(guard for guard in guards if not self._asks_about(guard, lvalue))

    def _asks_about(self, guard: tuple[int, int], lvalue: Value) -> bool:
        condition = self._function.blocks[guard[0]].edges[0].condition
        return condition is not None and condition.lvalue == lvalue
