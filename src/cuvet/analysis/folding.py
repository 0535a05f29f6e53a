"""Findings that are one for the reader: repeats in a process, in processes of one program, in several recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from cuvet.analysis.calls import RecordedCall
from cuvet.findings import SEVERITIES, Finding, UnexplainedFailure
from cuvet.rules.rule import Violation

T = TypeVar("T", Finding, UnexplainedFailure)

MOST_OTHERS = 5
"""Of what else one rule says about one call."""


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
    _last: RecordedCall | None = None

    def count(self, call: RecordedCall | None, message: str, times: int) -> None:
        """Count a call once, however often it breaks the rule. None: of a fault. ``times``: for so many calls that are alike."""
        if call is None or call is not self._last:
            self.repeats += times
            self._last = call
        elif self.repeats == 1 and message != self.finding.message and len(self.others) < MOST_OTHERS:
            self.others[message] = None

    def told(self) -> Finding:
        """The finding as it stands in the report."""
        return msgspec.structs.replace(
            self.finding,
            because=self.finding.because + tuple(f"likewise: {message}" for message in self.others),
            repeats=self.repeats,
            processes=len(self.processes),
            consequences=tuple(each.told() for each in self.consequences),
        )


@dataclass
class Findings:
    """Findings of all processes. Repeats are folded: within a process those at the same place; of other processes (workers of one
    program) those that have the same stack and message. What follows from another is folded below that."""

    ignored: Callable[[Finding], bool] = lambda finding: False
    """Whether the report leaves the finding out, for a comment on its stack: it is not folded with one that stays."""
    _folds: list[Fold] = field(default_factory=list)
    _fresh: list[Finding] = field(default_factory=list)
    _by_call: dict[tuple[object, ...], Fold] = field(default_factory=dict)
    _by_place: dict[tuple[object, ...], Fold] = field(default_factory=dict)

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
            where = new.site.frames[:1] or new.site.thread
            earlier = tuple(each.site.frames[:1] for each in new.earlier[:1])
            here = (new.rule, new.api, new.site.process, where, earlier, cause, self.ignored(new))
            anywhere = (new.rule, new.api, new.message, new.site.frames or here, earlier, cause)
            fold = self._by_place.get(here) or self._by_place.get(anywhere) or self._new(new, cause)
            self._by_call[key] = self._by_place[here] = fold
            self._by_place.setdefault(anywhere, fold)
            fold.processes.add(new.site.process)
        fold.count(call, message, times)
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

    def all(self) -> tuple[Finding, ...]:
        return tuple(fold.told() for fold in self._folds)


def cause_of(violation: Violation) -> Fold | None:
    """The worst finding of the call whose mistake made this one."""
    call = violation.cause
    reported = call.reported if isinstance(call, RecordedCall) else ()
    rules = violation.cause_rules
    fitting = [fold for fold in reported if not rules or fold.finding.name in rules]
    return min(fitting, key=lambda fold: SEVERITIES.index(fold.finding.severity), default=None)


def folded(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each once that occurred in several recordings, with the same stack and message: they are of processes of one program."""
    return _summed(findings, lambda each: (each.rule, each.api, each.message), "repeats", "processes")


def folded_failures(failures: Iterable[UnexplainedFailure]) -> tuple[UnexplainedFailure, ...]:
    """Likewise, of calls that failed."""
    return _summed(failures, lambda each: (each.api, each.status, each.library), "count")


def _summed(items: Iterable[T], like: Callable[[T], object], *counts: str) -> tuple[T, ...]:
    """The first of those that are alike and have the same stack, with the sums of their ``counts``."""
    folded: dict[tuple[object, object], T] = {}
    for number, each in enumerate(items):
        key = (like(each), each.site.frames or number)
        if (first := folded.get(key)) is not None:
            each = msgspec.structs.replace(
                first, **{name: getattr(first, name) + getattr(each, name) for name in counts}
            )
        folded[key] = each
    return tuple(folded.values())
