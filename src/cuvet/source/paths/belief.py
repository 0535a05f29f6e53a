"""Whether a path can be believed: whether it takes one unknown decision, and not several that may exclude each other.

The decisions that a finding depends on are the branches around its calls, and those that passed by something which would have
changed the object. They have to lie on one chain, each within the one before.
"""

from collections.abc import Container, Iterator, Mapping, Sequence, Set

from cuvet.source.paths.trace import Guards, SourceCall, Unset
from cuvet.source.paths.walk import Path, Taken
from cuvet.source.program import THROWN, Address, Assign, Condition, Invoke, Operation

_BESIDE = 300
"""Bytes between a call and the statement that notes it."""


class _Chain:
    """Branches that lie within one another."""

    def __init__(self) -> None:
        self._longest: Guards = ()

    def takes(self, guards: Guards) -> bool:
        """Whether these lie on the chain; if they do, they belong to it from now on."""
        shorter, longer = sorted((self._longest, guards), key=len)
        self._longest = longer
        return longer[: len(shorter)] == shorter


def believable(
    path: Path, calls: list[SourceCall], until: int, lvalue: str, end: Guards | None = None, on_devices: bool = False
) -> bool:
    """``calls`` are those that the finding is about, the first first; ``until`` is the step at which it is seen, ``end`` the branches
    around that if it is no call. With ``on_devices`` it depends on the current device too."""
    chain = _Chain()
    written = {value.lvalue for value in calls[0].written.arguments if isinstance(value, Address)}
    names = frozenset({lvalue, *written})
    about = _About(path.function.states, names, path.arms.puts.get(lvalue, ()), calls[0].written.start)
    around = [*(call.guards for call in calls), *(() if end is None else (end,))]
    between = [taken for taken in path.between(calls[0].step, until) if taken.free]
    passed = (taken for taken in between if passes_by(path, taken, lvalue))
    switches = (taken for taken in path.taken if taken.step < until and _switches(path, taken)) if on_devices else ()
    return (
        not any(_repeated_in_branch(path, call) or _left_by_chance(path, call) for call in calls)
        and all(chain.takes(_free(path, guards)) for guards in around)
        and all(_may_pass_by(path, taken, about, chain, lost=end is not None) for taken in passed)
        and all(chain.takes(_way_to(path, taken)) for taken in switches)
        and not any(about.says(taken.condition, calls, end is not None) for taken in between)
    )


class _About:
    """Which conditions say something of the object itself: those that ask for ``names``, its own and what the call that ``made`` it, or was
    the first to be seen, wrote beside it; whether there are the ``places`` that it is put into; and for variables that were set to say
    what was done, by ``Function.states``."""

    def __init__(self, states: Mapping[str, Sequence[int]], names: Set[str], places: Container[str], made: int) -> None:
        self._states, self._names, self._places, self._made = states, names, places, made

    def asks(self, condition: Condition | None) -> bool:
        return condition is not None and (
            not self._names.isdisjoint(condition.names)
            or (condition.lvalue in self._places and condition.value == 0)
            or any(self._set(condition, self._made))
        )

    def says(self, condition: Condition | None, calls: Sequence[SourceCall], lost: bool) -> bool:
        """Whether the condition asks for what was set beside one of the calls: behind the one that made what is ``lost``, or where
        something was done that another call is at odds with."""
        before, noted = (0, calls) if lost else (_BESIDE, calls[:-1])
        return condition is not None and any(
            -before <= place - call.written.start < _BESIDE
            for call in noted
            for place in self._set(condition, self._made - before)
        )

    def _set(self, condition: Condition, after: int) -> Iterator[int]:
        places = (place for name in condition.names for place in self._states.get(name, ()))
        return (place for place in places if after <= place < condition.start)


def _may_pass_by(path: Path, taken: Taken, about: _About, chain: _Chain, lost: bool) -> bool:
    """Not that a loop takes no turn at all, what may be decided otherwise each time, and what asks about the object itself. What is
    ``lost`` on one way out does not depend on the other ways out."""
    if taken.block in path.loops and taken.arm == 1:
        return taken.passes > 0
    other_way_out = lost and (taken.block, 1 - taken.arm) in path.arms.ending
    return (
        taken.passes == 0 and not about.asks(taken.condition) and (other_way_out or chain.takes(_way_to(path, taken)))
    )


def passes_by(path: Path, taken: Taken, lvalue: str) -> bool:
    """Whether the other arm of the decision would have changed what the lvalue holds."""
    return (taken.block, 1 - taken.arm) in path.arms.changing(lvalue)


def skips_value(path: Path, unset: Unset) -> Taken | None:
    """The decision by which the function goes to a label past all that gives the variable a value; None if that is not certain. It is the
    only one of which nothing is known, and what is called there depends on nothing else than the variable."""
    lvalue, by, between = unset.lvalue, unset.by, list(path.between(unset.step, unset.by.step))
    free = [taken for taken in between if taken.free]
    jumps = [taken for taken in between if path.arms.goes_to_label((taken.block, taken.arm))]
    skip = jumps[-1] if jumps else None
    if skip is None or skip.condition is None or any(passes_by(path, taken, lvalue) for taken in between):
        return None
    if any(block in path.loops and (block, arm) not in unset.guards for block, arm in path.arms.changing(lvalue)):
        return None
    asked = [taken for taken in free if taken not in jumps and (taken.block, taken.arm) in by.guards]
    unsure = [
        taken for taken in free if taken in jumps or (taken.condition and taken.condition.text.startswith(THROWN))
    ]
    if len(unsure) > (not path.effects.failing) or not all(_asks_only(taken, lvalue) for taken in asked):
        return None
    is_set = any(
        skip.condition.start < each.start < by.written.start and _sets(each, lvalue)
        for each in path.function.operations
    )
    return skip if is_set else None


def _asks_only(taken: Taken, lvalue: str) -> bool:
    return taken.condition is not None and taken.condition.lvalue == lvalue


def _sets(operation: Operation, lvalue: str) -> bool:
    if isinstance(operation, Assign):
        return operation.lvalue == lvalue and not operation.declared
    return isinstance(operation, Invoke) and Address(lvalue) in operation.arguments


def _way_to(path: Path, taken: Taken) -> Guards:
    """The decision, after those that lead to it."""
    return (*_free(path, path.function.blocks[taken.block].guards), path.arms.owner((taken.block, taken.arm)))


def _switches(path: Path, taken: Taken) -> bool:
    """Whether nothing is known of the decision, and an arm of it makes another device current."""
    switching = path.arms.switching
    return taken.free and ((taken.block, 0) in switching or (taken.block, 1) in switching)


def _repeated_in_branch(path: Path, call: SourceCall) -> bool:
    """In a repetition of a loop, within a branch of its body: whether that is taken each time is not known."""
    return call.again and bool(call.guards) and call.guards[-1][0] not in path.loops


def _left_by_chance(path: Path, call: SourceCall) -> bool:
    """Whether the call stands in a branch within a loop, and the loop's own condition ended it afterwards: the branch may be the
    one after which it goes on."""
    loops = {block for block, _ in call.guards} & path.loops
    ended = (taken.block for taken in path.between(call.step) if taken.arm == 1 and taken.block in loops)
    inner = (_free(path, call.guards[call.guards.index((block, 0)) + 1 :]) for block in ended)
    return any(block not in path.loops for guards in inner for block, _ in guards)


def _free(path: Path, guards: Guards) -> Guards:
    """Without decisions that were known, and without those past which the path came: a case is fallen into."""
    return tuple(guard for guard in guards if guard in path.chosen and guard not in path.known)
