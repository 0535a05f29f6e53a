"""Runs a function along its paths, over symbolic handles, through the model.

A path is taken with the arms that do not leave the function early, every loop once, all calls successful; then once for each
decision that can also go the other way, with that one taken otherwise. So what is found on a path needs one decision of which
nothing is known, and not a combination that may be impossible; ``cuvet.source.paths.belief`` says whether that holds for the calls that
a finding is about.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from cuvet.source.paths.arms import Arm, Arms
from cuvet.source.paths.effects import Effects
from cuvet.source.paths.handles import FIRST
from cuvet.source.paths.trace import Here, Key
from cuvet.source.program import OF_BUILD, Condition, Edge, Function, Return
from cuvet.source.result import Summaries
from cuvet.source.syntax.macros import implies, names_in

MOST_PATHS = 64
MOST_STEPS, MOST_STEPS_OF_FUNCTION = 4_000, 40_000
"""Operations of one path, and of all paths of a function."""
_MOST_TURNS = 4
"""Of a loop, on one path."""
_MOST_PASSES = 16
"""Through one block, on one path: some loops are made with goto."""

Decision = tuple[int, int]
"""A block, and how often it was passed before."""


@dataclass(slots=True)
class Taken:
    """A decision on the path: edge ``arm`` of ``block`` is taken at ``step``. ``free``: nothing is known that decides it. ``passes``: how
    often it was decided before."""

    block: int
    arm: int
    condition: Condition | None
    truth: bool
    step: int
    free: bool
    passes: int


@dataclass(slots=True, frozen=True)
class Alternative:
    """A decision that can go the other way: because nothing is known about it, or when the calls ``failing`` fail."""

    decision: Decision
    arm: int
    failing: frozenset[Key]


_step = attrgetter("step")


class Path:
    """One path through a function. With an ``alternative`` that decision is taken so, and what comes before is not judged again: the calls
    that CUDA refuses there are at the steps ``refused``."""

    def __init__(
        self,
        function: Function,
        summaries: Summaries,
        arms: Arms,
        alternative: Alternative | None = None,
        refused: Iterable[int] = (),
    ) -> None:
        self.function = function
        self.alternative = alternative
        self.effects = Effects(
            function, summaries, arms.releases, alternative.failing if alternative else frozenset(), refused
        )
        self.effects.world.judging = alternative is None or bool(alternative.failing)
        self.taken: list[Taken] = []
        self.alternatives: list[Alternative] = []
        self.loops = {edge.target for block in function.blocks for edge in block.edges if edge.kind == "back"}
        self.arms = arms
        self.known: set[Arm] = set()
        """Arms that were taken because something is known that decides so."""
        self._answers: dict[str, list[Taken]] = {}
        """By its text, the decisions on a condition: the newest, and the newest on another than that."""
        self._of_build: dict[str, list[Taken]] = {}
        """By the names in it, the decisions of #if."""
        self.steps = 0

    def run(self) -> None:
        at = 0
        passes: dict[int, int] = {}
        while self.steps < MOST_STEPS and passes.get(at, 0) < _MOST_PASSES:
            count = passes.get(at, 0)
            passes[at] = count + 1
            block = self.function.blocks[at]
            for index, operation in enumerate(block.operations):
                self.steps += 1
                self.effects.operate(operation, Here((at, index, count), block.guards, self.steps))
                if isinstance(operation, Return):
                    return
            arm = self._decide(at, count, block.edges)
            if arm < 0 or (block.edges[arm].kind == "back" and count >= _MOST_TURNS):
                return
            at = block.edges[arm].target

    # Decisions.

    def _decide(self, at: int, count: int, edges: list[Edge]) -> int:
        """The edge to take; -1 if there is none."""
        if len(edges) < 2:
            return len(edges) - 1
        condition = edges[0].condition
        known = self._known(condition, at)
        if at in self.loops and count > 1 and known is edges[0].truth:
            known = None  # what ends the loop may be in an arm that the path does not take
        forced = self.alternative is not None and self.alternative.decision == (at, count)
        if forced and self.alternative is not None:
            arm = self.alternative.arm
            self.effects.world.judging = True
        elif known is not None:
            arm = next(index for index, each in enumerate(edges) if each.truth is known)
        else:
            arm = self._preferred(at, count)
        truth = edges[arm].truth
        if not forced:
            self._remember_other_arm((at, count), arm, condition, known is None)
        self._note(Taken(at, arm, condition, truth, self.steps, known is None, count))
        if known is None and condition is not None:
            self._learn(condition, truth, (at, arm))
        return arm

    def between(self, since: int, until: int) -> Iterator[Taken]:
        """The decisions that are taken at steps from ``since`` to before ``until``."""
        for at in range(bisect_left(self.taken, since, key=_step), len(self.taken)):
            if self.taken[at].step >= until:
                return
            yield self.taken[at]

    def _note(self, taken: Taken) -> None:
        self.taken.append(taken)
        if not taken.free:
            self.known.add((taken.block, taken.arm))
        condition = taken.condition
        if condition is None:
            return
        answers = self._answers.setdefault(condition.text, [])
        if answers and answers[-1].condition is condition:
            answers.pop()
        answers.append(taken)
        if condition.text.startswith(OF_BUILD):
            for name in names_in(condition.text.removeprefix(OF_BUILD)):
                self._of_build.setdefault(name, []).append(taken)

    def _preferred(self, at: int, count: int) -> int:
        """The first arm, unless it leaves early; out of a loop that was run once."""
        first, second = (at, 0) in self.arms.leaving, (at, 1) in self.arms.leaving
        return 1 if (count > 0 or first) and not second else 0

    def _remember_other_arm(self, decision: Decision, arm: int, condition: Condition | None, free: bool) -> None:
        if free:
            self.alternatives.append(Alternative(decision, 1 - arm, frozenset()))
        elif condition is not None:
            origin = self.effects.statuses.of(condition.place)
            if origin is not None and origin not in self.effects.failing:
                self.alternatives.append(Alternative(decision, 1 - arm, frozenset({origin})))

    def _known(self, condition: Condition | None, at: int) -> bool | None:
        """What the condition is, where its place's value is known, or it was asked before and nothing changed since."""
        if condition is None:
            return None
        place, effects = condition.place, self.effects
        if condition.compares and place in effects.statuses.doubtful:
            return self._judged_status(condition)
        if place and not place.endswith("?"):
            word, other = effects.handles.words.get(place), effects.handles.known(condition.value)
            if word is not None and other is not None:
                if word == other:
                    return condition.same
                if (word < FIRST and other < FIRST) or (other == 0 and word in effects.world.made_by):
                    return not condition.same
        if at in self.loops:
            return None
        asked = (
            each.truth for each in reversed(self._answers.get(condition.text, ())) if each.condition is not condition
        )
        known = next(asked, None)
        return self._known_of_build(condition) if known is None and condition.text.startswith(OF_BUILD) else known

    def _known_of_build(self, condition: Condition) -> bool | None:
        """What #if was asked before can decide what it asks now."""
        text = condition.text.removeprefix(OF_BUILD)
        related = {id(taken): taken for name in names_in(text) for taken in self._of_build.get(name, ())}
        for taken in sorted(related.values(), key=_step):
            if taken.condition is None or taken.condition is condition:
                continue
            before = taken.condition.text.removeprefix(OF_BUILD)
            if taken.truth and implies(before, text):
                return True
            if not taken.truth and implies(text, before):
                return False
        return None

    def _judged_status(self, condition: Condition) -> bool | None:
        """A comparison with what some function made of a status: equal means success, but to a number that is not zero."""
        failed = self.effects.statuses.doubtful[condition.place] in self.effects.failing
        if isinstance(condition.value, int) and condition.value:
            return None if failed else not condition.same
        return condition.same is not failed

    def _learn(self, condition: Condition, truth: bool, arm: tuple[int, int]) -> None:
        """A condition of which nothing was known holds from here on."""
        effects, place = self.effects, condition.place
        effects.statuses.doubt(condition, arm)
        if place and not place.endswith("?") and condition.same is truth and isinstance(condition.value, int):
            effects.handles.set(place, condition.value)


def explore(function: Function, summaries: Summaries) -> tuple[list[Path], bool]:
    """The paths that were taken, and whether these are all. ``summaries`` are of the functions that it may call."""
    arms = Arms(function)
    first = Path(function, summaries, arms)
    first.run()
    paths, steps = [first], first.steps
    alternatives = list(dict.fromkeys(first.alternatives))
    for alternative in alternatives:
        if len(paths) >= MOST_PATHS or steps > MOST_STEPS_OF_FUNCTION:
            return paths, False
        path = Path(function, summaries, arms, alternative, () if alternative.failing else first.effects.world.refused)
        path.run()
        paths.append(path)
        steps += path.steps
    return paths, first.steps < MOST_STEPS
