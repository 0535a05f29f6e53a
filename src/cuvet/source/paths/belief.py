"""Whether a path can be believed: whether it takes one decision of which nothing is known, and not several that may exclude
each other.

The decisions that a finding depends on are the branches around its calls, and those that passed by something which would have
changed the object. They have to lie on one chain, each within the one before.
"""

from cuvet.source.paths.trace import Guards, SourceCall
from cuvet.source.paths.walk import Path, Taken


def believable(
    path: Path, calls: list[SourceCall], until: int, lvalue: str, end: Guards | None = None, on_devices: bool = False
) -> bool:
    """``calls`` are those that the finding is about, the first first; ``until`` is the step at which it is seen, ``end`` the branches
    around that if it is no call. With ``on_devices`` it depends on the current device too."""
    if any(_repeated_in_branch(path, call) or _left_by_chance(path, call) for call in calls):
        return False
    chain = _Chain()
    around = [*(call.guards for call in calls), *(() if end is None else (end,))]
    if not all(chain.takes(_free(path, guards)) for guards in around):
        return False
    changing = path.arms.changing(lvalue)
    for taken in path.between(calls[0].step, until) if changing else ():
        if not taken.free or (taken.block, 1 - taken.arm) not in changing:
            continue
        if taken.block in path.loops and taken.arm == 1:
            if taken.passes == 0:
                return False  # that a loop takes no turn at all
            continue
        if taken.passes > 0:
            return False  # it may be decided otherwise each time
        if taken.condition is not None and lvalue in taken.condition.names:
            return False  # it asks about the object itself
        if not chain.takes(_way_to(path, taken)):
            return False
    switches = (taken for taken in path.between(0, until) if _switches(path, taken)) if on_devices else ()
    return all(chain.takes(_way_to(path, taken)) for taken in switches)


class _Chain:
    """Branches that lie within one another."""

    def __init__(self) -> None:
        self._longest: Guards = ()

    def takes(self, guards: Guards) -> bool:
        """Whether these lie on the chain; if they do, they belong to it from now on."""
        shorter, longer = sorted((self._longest, guards), key=len)
        self._longest = longer
        return longer[: len(shorter)] == shorter


def passes_by(path: Path, taken: Taken, lvalue: str) -> bool:
    """Whether the other arm of the decision would have changed what the lvalue holds."""
    return (taken.block, 1 - taken.arm) in path.arms.changing(lvalue)


def _way_to(path: Path, taken: Taken) -> Guards:
    """The decision, after those that lead to it."""
    return (*_free(path, path.function.blocks[taken.block].guards), (taken.block, taken.arm))


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
    if path.loops.isdisjoint(block for block, _ in call.guards):
        return False
    for taken in path.between(call.step, path.steps + 1):
        turn = (taken.block, 0)
        if taken.block in path.loops and taken.arm == 1 and turn in call.guards:
            inner = call.guards[call.guards.index(turn) + 1 :]
            if any(block not in path.loops for block, _ in _free(path, inner)):
                return True
    return False


def _free(path: Path, guards: Guards) -> Guards:
    """Without decisions that were known."""
    return tuple(guard for guard in guards if guard not in path.known)
