"""Findings that are one for the reader: repeats in a process, in processes of one program, in several recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from cuvet.analysis.calls import RecordedCall
from cuvet.analysis.ranked import RankOf
from cuvet.findings import SEVERITIES, Finding, Frame, Site, UnexplainedFailure
from cuvet.recording.sites import MOST_FRAMES
from cuvet.rules.rule import Violation

Samples = tuple[tuple[int, int], ...]
"""``Clock.samples``."""

_Place = tuple[Frame | int | None, ...]
"""Frames; without a stack, the thread."""

MOST_OTHERS = 5
"""Of what else one rule says about one call."""
MOST_OF_LINE = 100
"""Places with the same innermost line, and the same of the earlier call, that are told apart: of more, the others count as the first."""
MOST_KNOWN = 1 << 16
"""Keys of calls, and places, that are remembered."""


@dataclass(eq=False)
class Fold:
    """A finding, how often it occurred, and what followed from it. ``cause``: the one that it follows from itself."""

    finding: Finding
    cause: Fold | None = None
    processes: set[int] = field(default_factory=set)
    repeats: int = 0
    others: dict[str, None] = field(default_factory=dict)
    """What else the rule says about the first call: of its other arguments."""
    consequences: list[Fold] = field(default_factory=list)
    samples: Samples | None = None
    """Those of the clocks by which the time of its call was told; None if that is not known."""
    _last: RecordedCall | None = None

    def count(self, call: RecordedCall | None, message: str, times: int) -> None:
        """Count a call once, however often it breaks the rule. None: of a fault. ``times``: for so many calls that are alike."""
        if call is None or call is not self._last:
            self.repeats += times
            self._last = call
        elif self.repeats == 1 and message != self.finding.message and len(self.others) < MOST_OTHERS:
            self.others[message] = None

    def told(self, rank_of: RankOf = lambda process: None) -> Finding:
        """The finding as it stands in the report."""
        ranks = {rank.rank for process in self.processes if (rank := rank_of(process)) is not None}
        return msgspec.structs.replace(
            self.finding,
            because=self.finding.because + tuple(f"likewise: {message}" for message in self.others),
            repeats=self.repeats,
            processes=len(self.processes),
            ranks=tuple(sorted(ranks)),
            consequences=tuple(each.told(rank_of) for each in self.consequences),
        )


@dataclass
class Findings:
    """Findings of all processes. Repeats are folded: within a process those at the same place, with the same callers: what a helper
    function does for two callers are two mistakes. Of other processes (workers of one program) those that have the same stack and message.
    What follows from another is folded below that."""

    ignored: Callable[[Finding], bool] = lambda finding: False
    """Whether the report leaves the finding out, for a comment on its stack: it is not folded with one that stays."""
    _folds: list[Fold] = field(default_factory=list)
    _fresh: list[Finding] = field(default_factory=list)
    _by_call: dict[tuple[object, ...], Fold] = field(default_factory=dict)
    _by_place: dict[tuple[object, ...], Fold] = field(default_factory=dict)
    _of_line: dict[tuple[object, ...], list[tuple[tuple[_Place, ...], Fold]]] = field(default_factory=dict)
    _taken: int = 0
    _dated: int = 0

    def date(self, samples: Samples | None) -> None:
        """Say by which samples times were told of all that was found since this was last said."""
        for fold in self._folds[self._dated :]:
            fold.samples = samples
        self._dated = len(self._folds)

    def add(
        self,
        key: tuple[object, ...],
        build: Callable[[], Finding],
        cause: Fold | None = None,
        call: RecordedCall | None = None,
        message: str = "",
        times: int = 1,
    ) -> Fold:
        """``key`` tells cheaply that a finding is a repeat; otherwise it is built, and may yet have the place of another. ``cause``:
        what it follows from. ``call``: which was judged, in the words of ``message``; ``times``: it stands for so many that are alike."""
        cause = cause.cause or cause if cause else None
        key = (*key, cause)
        fold = self._by_call.get(key)
        if fold is None:
            new = build()
            fold = self._place_of(new, cause)
            if len(self._by_call) >= MOST_KNOWN:  # it only saves building them again
                self._by_call.clear()
            self._by_call[key] = fold
            fold.processes.add(new.site.process)
        fold.count(call, message, times)
        return fold

    def _place_of(self, new: Finding, cause: Fold | None) -> Fold:
        """The fold of those at its place, which is a new one if there are none."""
        about = (new.rule, new.api, cause, self.ignored(new), new.earlier[0].site.api if new.earlier else "")
        sites = (new.site, *(each.site for each in new.earlier[:1]))
        where = tuple(_callers(each) for each in sites)
        here = (about, new.site.process, where)
        anywhere = (about, new.message, tuple(each.frames for each in sites)) if new.site.frames else here
        line = (about, new.site.process, tuple(place[0] for place in where))
        of_line = self._of_line.setdefault(line, [])
        fold = self._by_place.get(here) or self._by_place.get(anywhere)
        if fold is None:
            fold = next((known for place, known in of_line if all(map(_may_be, place, where))), None)
        if fold is None and len(of_line) >= MOST_OF_LINE:
            return of_line[0][1]
        if fold is None:
            fold = self._by_place[here] = self._new(new, cause)
            of_line.append((where, fold))
        if len(self._by_place) < MOST_KNOWN:
            self._by_place.setdefault(here, fold)
            self._by_place.setdefault(anywhere, fold)
        return fold

    def _new(self, finding: Finding, cause: Fold | None) -> Fold:
        if cause and SEVERITIES.index(finding.severity) >= SEVERITIES.index(cause.finding.severity):
            cause.consequences.append(Fold(finding, cause))
            return cause.consequences[-1]
        self._folds.append(Fold(finding))
        self._fresh.append(finding)
        return self._folds[-1]

    def take_fresh(self) -> list[Finding]:
        """Those found since it was last asked."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def all(self, rank_of: RankOf = lambda process: None) -> tuple[Finding, ...]:
        return tuple(fold.told(rank_of) for fold in self._folds)

    def samples(self) -> list[Samples | None]:
        """Of each of ``all``."""
        return [fold.samples for fold in self._folds]

    def take(self) -> list[Finding]:
        """Those since it was last asked, with their repeats and consequences. What comes later is not folded with them."""
        taken, self._taken = self._folds[self._taken :], len(self._folds)
        for known in (self._by_call, self._by_place, self._of_line):
            known.clear()
        return [fold.told() for fold in taken]


def _callers(site: Site) -> _Place:
    """The stack, however deep a recursion was: of calls of a function by itself the innermost, and what comes again once. None at its end:
    it is too deep to show where the recursion began."""
    frames = site.frames
    functions = [(each.function, each.file) for each in frames]
    each_once = dict.fromkeys(each for at, each in enumerate(frames) if not at or functions[at] != functions[at - 1])
    cut = (None,) if len(frames) >= MOST_FRAMES and len(each_once) < len(frames) else ()
    return (*each_once, *cut) or (site.thread,)


def _may_be(one: _Place, other: _Place) -> bool:
    """Whether they are the same, as far as they are known."""
    return (
        one == other
        or (one[-1] is None and other[: len(one) - 1] == one[:-1])
        or (other[-1] is None and one[: len(other) - 1] == other[:-1])
    )


def cause_of(violation: Violation) -> Fold | None:
    """The worst finding of the call whose mistake made this one."""
    call = violation.cause
    reported = call.reported if isinstance(call, RecordedCall) else ()
    rules = violation.cause_rules
    fitting = [fold for fold in reported if not rules or fold.finding.name in rules]
    return min(fitting, key=lambda fold: SEVERITIES.index(fold.finding.severity), default=None)


def folded_failures(failures: Iterable[UnexplainedFailure]) -> tuple[UnexplainedFailure, ...]:
    """Each once that occurred in several recordings, from the same place: they are of processes of one program."""
    folded: dict[tuple[object, object], UnexplainedFailure] = {}
    for number, each in enumerate(failures):
        key = ((each.api, each.status, each.library), each.site.frames or number)
        first = folded.get(key)
        folded[key] = each if first is None else msgspec.structs.replace(first, count=first.count + each.count)
    return tuple(folded.values())
