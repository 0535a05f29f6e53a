"""Runs a function along its paths, over symbolic handles, through the model.

A path is taken with the arms that do not leave the function early, every loop once, all calls successful. Then each decision that can
also go the other way is taken otherwise, and then each to which only such a path comes. So what is found on a path needs one decision of
which nothing is known, or several within one another, and not a combination that may be impossible. In functions of many branches, arms
that change nothing which is asked for further on, and end where the other one does, are taken one after the other on the same path, which
goes back to the decision after each. Of many calls after which the function goes to the same label if they fail, the first and the last
are tried, and those between them only if that says different things. ``cuvet.source.paths.belief`` says whether what a path takes can be
believed of the calls that a finding is about.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import TypeVar

from cuvet.source.paths.arms import Arm, Arms
from cuvet.source.paths.effects import Effects, Mark, Progress
from cuvet.source.paths.handles import FIRST
from cuvet.source.paths.trace import Guards, Here, Key
from cuvet.source.paths.world import FAILED
from cuvet.source.program import OF_BUILD, Condition, Edge, Function, Return
from cuvet.source.result import Summaries
from cuvet.source.syntax.macros import implies, names_in

MOST_STEPS, STEPS_OF_OPERATION = 40_000, 4
"""How many blocks and operations all paths of a function pass: so many, and so many more for each that it has. A function that takes more
is not checked to its end."""
FEW = 16
"""Decisions: where there are no more, each is taken on a path of its own, which costs less than to look for those that change nothing."""
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
    """A decision that can go the other way: because nothing is known about it, or when the calls ``failing`` fail. The first path does
    not come to it: that takes the alternatives ``after``, too."""

    decision: Decision
    arm: int
    failing: frozenset[Key]
    after: tuple[Alternative, ...] = field(default=(), compare=False)
    progress: Progress | None = field(default=None, compare=False)
    """Of the path, when it came to the decision, if a call fails."""


_step = attrgetter("step")
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(slots=True)
class _Open:
    """A decision of which an arm is being followed that ends at block ``join``, and what was known before it. If that is not the arm that
    the first path takes, it is the ``other``, and what the path has noted can be undone down to ``noted``."""

    decision: Decision
    join: int
    before: Mark
    answered: int
    noted: int
    other: bool


class Path:
    """One path through a function. It takes the ``alternatives``, by their decisions: the first that it comes to, and further ones as long
    as each arm joins the path ``first`` again with nothing changed by either; both have to look for ``joins``. After such an arm the path
    goes back, takes the one that ``first`` takes, and is as if it had not been in the other. What comes before the first of them is not
    judged again: the calls that CUDA refuses there are known from ``first``. With calls that fail it takes one."""

    def __init__(
        self,
        function: Function,
        summaries: Summaries,
        arms: Arms,
        most_steps: int,
        alternatives: Mapping[Decision, Alternative] = MappingProxyType({}),
        first: Path | None = None,
        joins: bool = False,
    ) -> None:
        self.function = function
        self.arms = arms
        failing = frozenset[Key]().union(*(each.failing for each in alternatives.values()))
        refused = () if first is None else first.effects.world.refused
        self.effects: Effects = Effects(function, summaries, arms, failing, refused)
        self.effects.world.judging = first is None
        self.taken: list[Taken] = []
        self.alternatives: list[Alternative] = []
        """Of its own decisions."""
        self.otherwise: dict[Decision, Alternative] = {}
        """Those of the ``alternatives`` that were taken."""
        self.apart: set[Decision] = set()
        """Those of them after which the path did not come together with the first one."""
        self.joins: dict[Decision, bool] = {} if first is None else first.joins
        """By decision, whether the arm that is taken if it is not taken otherwise ends with nothing changed."""
        self.loops = arms.loops
        self.known: set[Arm] = set()
        """Arms that were taken because something is known that decides so."""
        self.chosen: set[Arm] = set()
        """Arms that were taken though nothing is known."""
        self.leaves = False
        """It leaves the function; others are given up, or are as the first one from somewhere on."""
        self.steps = 0
        self._most_steps = most_steps
        self._waiting = dict(alternatives)
        self._first = first
        self._looks_for_joins = joins
        self._open: list[_Open] = []
        self._noted: list[Callable[[], object]] = []
        """What undoes what was noted since an arm was taken otherwise."""
        self._passes: dict[int, int] = {}
        """How often each block was passed."""
        self._answers: dict[str, tuple[Taken, ...]] = {}
        """By its text, the decisions on a condition: the newest, and the newest on another than that."""
        self._answered = 0
        """How many decisions were taken on conditions that others ask for, too."""
        self._of_build: dict[str, tuple[Taken, ...]] = {}
        """By the names in it, the decisions of #if."""

    def run(self) -> None:
        at, blocks, passes, operate = 0, self.function.blocks, self._passes, self.effects.operate
        while at >= 0 and self.steps < self._most_steps and passes.get(at, 0) < _MOST_PASSES:
            again = self._join(at) if self._open else None
            if again is not None:
                at = self._onward(*again)
                continue
            if self._looks_for_joins and self._first is not None and not self._waiting and not self.apart:
                return  # from here on it is as the first one
            count = passes.get(at, 0)
            self._note(passes, at, count + 1)
            block = blocks[at]
            self.steps += 1  # a block without operations is work too
            for index, operation in enumerate(block.operations):
                self.steps += 1
                operate(operation, Here((at, index, count), block.guards, self.steps))
                if isinstance(operation, Return):
                    self.leaves = True
                    return
            at = self._onward(at, count)

    def _onward(self, at: int, count: int) -> int:
        """The block that comes after this one; -1 if there is none."""
        edges = self.function.blocks[at].edges
        arm = self._decide(at, count, edges) if len(edges) > 1 else len(edges) - 1
        if arm < 0 or (edges[arm].kind == "back" and count >= _MOST_TURNS):
            return -1
        return edges[arm].target

    def _join(self, at: int) -> Decision | None:
        """The path comes to block ``at``. If an arm ends there that was taken otherwise and changed nothing, no more than the other one
        does: the decision, which is to be taken anew."""
        while self._open and self._open[-1].join == at:
            ended = self._open.pop()
            matters = partial(self.arms.matters, block=at)
            same = ended.answered == self._answered
            if not ended.other:
                self.joins.setdefault(ended.decision, same and self.effects.is_as_at(ended.before, matters))
            elif same and self.joins.get(ended.decision) and self._changed_nothing(ended, matters):
                self.effects.back_to(ended.before)
                while len(self._noted) > ended.noted:
                    self._noted.pop()()
                return ended.decision
        return None

    def _changed_nothing(self, ended: _Open, matters: Callable[[str], bool]) -> bool:
        """Whether whatever can be said after the arm is said after the one that the first path takes."""
        held, uneven = self.effects.handles.held, self.arms.uneven(ended.decision[0], matters)
        same = self.effects.is_as_at(ended.before, matters, less=True)
        return same and not any(held(lvalue.removesuffix(".")) for lvalue in uneven)

    # Decisions.

    def _decide(self, at: int, count: int, edges: list[Edge]) -> int:
        """The edge to take, of two."""
        condition = edges[0].condition
        known = self._known(condition, at)
        if at in self.loops and count > 1 and known is edges[0].truth:
            known = None  # what ends the loop may be in an arm that the path does not take
        decided = None if known is None else next(at for at, each in enumerate(edges) if each.truth is known)
        other = self._other_arm((at, count), None if self._asks_which_error(condition) else decided)
        if other is not None:
            arm = self._take(other)
        elif decided is not None:
            arm = decided
        else:
            arm = self._preferred(at, count)
        truth = edges[arm].truth
        if other is None:
            self._remember_other_arm((at, count), arm, condition, known is None)
        if self._looks_for_joins:
            self._enter(other, (at, count), condition if known is None else None)
        if other is not None:
            self.apart.add(other.decision)
            self._noted.append(partial(self.apart.discard, other.decision))
        self._note_decision(Taken(at, arm, condition, truth, self.steps, known is None, count))
        if known is None and condition is not None:
            self._learn(condition, truth, (at, arm))
        elif condition is not None and isinstance(condition.value, int) and condition.value:
            self.effects.statuses.want_error(condition, self.arms.owner((at, arm)))
        return arm

    def _asks_which_error(self, condition: Condition | None) -> bool:
        """Whether a status of which only the failure is known is compared with one error."""
        if condition is None or not (condition.compares and condition.same):
            return False
        named = isinstance(condition.value, int) and condition.value != 0
        return named and self.effects.handles.words.get(condition.lvalue) == FAILED

    def _other_arm(self, decision: Decision, decided: int | None) -> Alternative | None:
        """The alternative that is to be taken there. Where several are taken, each is only taken in the arms that lead to it. ``decided``:
        what is known there decides for this arm; a call that failed before may have been made again."""
        other = self._waiting.get(decision)
        if other is None or (self._looks_for_joins and {each.decision for each in other.after} != self.apart):
            return None
        if other.failing and decided not in (None, other.arm):
            return None
        return self._waiting.pop(decision)

    def _take(self, other: Alternative) -> int:
        """The arm, of a decision that is taken otherwise than on the first path."""
        world = self.effects.world
        if not world.judging:
            world.judging = True
            world.refused = {step for step in world.refused if step <= self.steps}
        self.otherwise[other.decision] = other
        return other.arm

    def _enter(self, other: Alternative | None, decision: Decision, condition: Condition | None) -> None:
        """An arm of the decision begins. ``condition``: what it asks, if nothing is known about it."""
        if other is None and (decision in self.joins or (self._first is not None and not self.apart)):
            return
        join = self.arms.ahead.join(decision[0])
        if join >= 0 and condition is not None and self.arms.asks_alone(decision[0], condition):
            mark, noted = self.effects.mark(), len(self._noted)
            self._open.append(_Open(decision, join, mark, self._answered, noted, other is not None))

    def between(self, since: int, until: float = inf) -> Iterator[Taken]:
        """The decisions that are taken at steps from ``since`` to before ``until``."""
        for at in range(bisect_left(self.taken, since, key=_step), len(self.taken)):
            if self.taken[at].step >= until:
                return
            yield self.taken[at]

    def _note(self, table: dict[_K, _V], key: _K, value: _V) -> None:
        if self.apart:
            undo = partial(table.__setitem__, key, table[key]) if key in table else partial(table.pop, key)
            self._noted.append(undo)
        table[key] = value

    def _note_decision(self, taken: Taken) -> None:
        self.taken.append(taken)
        arm, arms = self.arms.owner((taken.block, taken.arm)), self.chosen if taken.free else self.known
        if self.apart:
            self._noted.append(self.taken.pop)
            if arm not in arms:
                self._noted.append(partial(arms.discard, arm))
        arms.add(arm)
        condition = taken.condition
        if condition is None:
            return
        self._answered += not self.arms.asks_alone(taken.block, condition)
        others = [each for each in self._answers.get(condition.text, ()) if each.condition is not condition]
        self._note(self._answers, condition.text, (others[-1], taken) if others else (taken,))
        if condition.text.startswith(OF_BUILD):
            for name in names_in(condition.text.removeprefix(OF_BUILD)):
                self._note(self._of_build, name, (*self._of_build.get(name, ()), taken))

    def _preferred(self, at: int, count: int) -> int:
        """The first arm, unless it leaves early; out of a loop that was run once."""
        first, second = (at, 0) in self.arms.leaving, (at, 1) in self.arms.leaving
        return 1 if (count > 0 or first) and not second else 0

    def _remember_other_arm(self, decision: Decision, arm: int, condition: Condition | None, free: bool) -> None:
        if self._first is not None and (self.effects.failing or decision[1]):
            return  # nobody asks for it
        after = tuple([each for each in self.otherwise.values() if each.decision in self.apart])
        if free:
            self.alternatives.append(Alternative(decision, 1 - arm, frozenset(), after))
        elif condition is not None:
            origin = self.effects.statuses.of(condition.lvalue)
            if origin is not None:
                self.alternatives.append(
                    Alternative(decision, 1 - arm, frozenset({origin}), after, self.effects.progress())
                )

    def _known(self, condition: Condition | None, at: int) -> bool | None:
        """What the condition is, where its lvalue's value is known, or it was asked before and nothing changed since."""
        if condition is None:
            return None
        lvalue, effects = condition.lvalue, self.effects
        if condition.compares and lvalue in effects.statuses.doubtful:
            return self._judged_status(condition)
        word, other = effects.handles.words.get(lvalue), effects.handles.known(condition.value)
        if word is not None and other is not None:
            if word == other:
                return condition.same
            made = effects.world.made_by
            if (word < FIRST and other < FIRST) or word in made or other in made:  # a new object is none that was there
                return not condition.same
        if at in self.loops:
            return None
        known = None
        for each in reversed(self._answers.get(condition.text, ())):
            if each.condition is not condition:
                known = each.truth
                break
        return self._known_of_build(condition) if known is None and condition.text.startswith(OF_BUILD) else known

    def _known_of_build(self, condition: Condition) -> bool | None:
        """What #if was asked before can decide what it asks now."""
        text = condition.text.removeprefix(OF_BUILD)
        related = {id(taken): taken for name in names_in(text) for taken in self._of_build.get(name, ())}
        for taken in sorted(related.values(), key=_step):
            if taken.condition is None:
                continue
            before = taken.condition.text.removeprefix(OF_BUILD)
            if taken.truth and implies(before, text):
                return True
            if not taken.truth and implies(text, before):
                return False
        return None

    def _judged_status(self, condition: Condition) -> bool | None:
        """A comparison with what some function made of a status: equal means success, and a number that is not zero either."""
        failed = self.effects.statuses.doubtful[condition.lvalue] in self.effects.failing
        return None if isinstance(condition.value, int) and condition.value else condition.same is not failed

    def _learn(self, condition: Condition, truth: bool, arm: tuple[int, int]) -> None:
        """A condition of which nothing was known holds from here on."""
        effects, lvalue = self.effects, condition.lvalue
        effects.statuses.doubt(condition, self.arms.owner(arm))
        if condition.value == 0 and (kind := effects.function.locals.get(lvalue)):
            effects.statuses.learn(lvalue, kind, condition.same is truth)
        if lvalue and not lvalue.endswith("?") and condition.same is truth and isinstance(condition.value, int):
            effects.handles.set(lvalue, condition.value)


def explore(function: Function, summaries: Summaries) -> tuple[list[Path], bool]:
    """The paths that were taken, and whether these are all. ``summaries`` are of the functions that it may call."""
    arms = Arms(function)
    budget = MOST_STEPS + STEPS_OF_OPERATION * sum(len(block.operations) + 1 for block in function.blocks)
    first = Path(function, summaries, arms, budget)
    first.run()
    budget -= first.steps
    many = sum(not each.failing for each in first.alternatives) > FEW
    if many:
        first = Path(function, summaries, arms, budget, joins=True)
        first.run()
    order = {each: at for at, each in enumerate(dict.fromkeys(first.alternatives))}
    waiting = dict.fromkeys(order)
    rows = [row for row in _rows(first) if len(row) > FEW]
    for inner in (each for row in rows for each in row[1:-1]):
        waiting.pop(inner)
    said: dict[Alternative, frozenset[tuple[object, ...]]] = {}
    seen = {each.decision for each in order}
    joined: set[Decision] = set()
    others: list[tuple[int, Path]] = []
    while waiting and budget > 0:
        alternative = next(iter(waiting))
        alone = bool(alternative.failing) or not many
        together = [alternative] if alone else [each for each in waiting if _goes_with(each, alternative, joined)]
        taken = {each.decision: each for one in together for each in (*one.after, one)}
        path = Path(function, summaries, arms, budget, taken, first, joins=not alone)
        path.run()
        budget -= path.steps
        took = list(path.otherwise.values())
        joined.update(path.otherwise.keys() - path.apart)
        others.append((max((order[each] for each in took if each.decision in path.apart), default=-1), path))
        for each in waiting.keys() & took or {alternative}:
            waiting.pop(each)
        if alternative.failing:
            said[alternative] = _said(path)
            for row in [row for row in rows if alternative in (row[0], row[-1]) and {row[0], row[-1]} <= said.keys()]:
                rows.remove(row)
                if not _say_the_same(row, said, first):
                    middle = len(row) // 2
                    waiting[row[middle]] = None
                    rows += [row[: middle + 1], row[middle:]]
        for each in path.alternatives if not alternative.failing else ():
            if (
                not each.decision[1] and each.decision not in seen
            ):  # of a loop, no turn but the first is taken otherwise
                seen.add(each.decision)
                order[each] = len(order)
                waiting[each] = None
    others.sort(key=itemgetter(0))
    return [first, *(path for _, path in others)], budget > 0


def _goes_with(each: Alternative, alternative: Alternative, joined: set[Decision]) -> bool:
    """Whether both can be tried on one path. Arms of decisions that have ``joined`` can be taken on the way to others."""
    if each.failing:
        return False
    return each.after == alternative.after or all(before.decision in joined for before in each.after)


def _rows(first: Path) -> Iterator[list[Alternative]]:
    """Calls after which the path goes to the same place if they fail, as ``goto out``, from within the same branches."""
    rows: dict[tuple[int, Guards], list[Alternative]] = {}
    blocks = first.function.blocks
    for each in dict.fromkeys(first.alternatives):
        block = blocks[each.decision[0]]
        edge = block.edges[each.arm]
        if each.failing and not each.decision[1] and edge.kind == "jump":
            rows.setdefault((edge.target, block.guards), []).append(each)
    yield from rows.values()


def _said(path: Path) -> frozenset[tuple[object, ...]]:
    """What may be said of a path, in short."""
    broken = ((each.violation.rule.code, each.call.written.start) for each in path.effects.world.broken)
    return frozenset((*broken, *((each.by.written.start, each.lvalue) for each in path.effects.left)))


def _say_the_same(
    row: list[Alternative], said: Mapping[Alternative, frozenset[tuple[object, ...]]], first: Path
) -> bool:
    """Whether the calls between the first and the last of the row need no paths of their own: on that of each, an object is there or it is
    not, and so it is on one of these two, which differ in nothing else."""
    since, until = row[0].progress, row[-1].progress
    if len(row) < 3:
        return True
    return (
        since is not None
        and until is not None
        and said[row[0]] == said[row[-1]]
        and first.effects.only_makes(since, until)
    )
