"""Which of several ranks failed first, and how the others followed.

A rank has failed if its program ended with an exit code other than 0 or by a signal. When it failed is the time of its first error: of a
finding, or of a failed call that no rule explains; else the end of its program. An error that ranks have too whose program ended well is no
reason. A rank that somebody else ended (SIGTERM, or one signal for all at once) did not fail by itself: it counts only if no other did, and
then from when the call was made in which it still was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from signal import SIGKILL
from typing import NamedTuple

from msgspec.structs import replace

from cuvet.analysis.clocks import Clocks
from cuvet.analysis.process import ENDED_BY_OTHERS
from cuvet.analysis.verdicts import Lived, Verdict
from cuvet.catalog import api_of, status_name
from cuvet.findings import Finding, FirstFailure, Follower, Rank, Site, UnexplainedFailure, Waiting
from cuvet.signals import signal_name

TOGETHER_NS = 1_000_000_000
"""Programs that end by one signal within this time were ended together; calls that had waited longer then are worth telling."""
STICKY = "error-sticky"
_UNSEEN = "ended without its exit handlers, killed or by _exit"
_COMMUNICATION = "nccl"
"""Library whose calls fail when another rank has failed."""


Like = Callable[[Finding], object]
"""Tells which findings are alike."""


class Unit(NamedTuple):
    """One rank, or all of a recording that has no ranks. ``alone``: how the program ended is how it ended."""

    verdict: Verdict
    rank: Rank | None
    processes: tuple[Lived, ...]
    alone: bool


class Failure(NamedTuple):
    """How a rank failed. ``by_others``: somebody ended it. ``follows``: it is of a kind that failures of other ranks bring about."""

    unit: Unit
    process: int
    time_ns: int
    text: str
    where: str = ""
    """More of the text, for the first that failed."""
    by_others: bool = False
    follows: bool = False
    cause: Finding | UnexplainedFailure | None = None
    waiting: Waiting | None = None


class Found(NamedTuple):
    """``folded``: what is told with the followers and not again, by ``id``."""

    told: FirstFailure
    failure: Failure
    folded: frozenset[int]


def first_failure(verdicts: Sequence[Verdict], clocks: Clocks, like: Like) -> Found | None:
    """None if no program failed, if there are not several ranks of one job, or if nothing tells which failed first."""
    every = [unit for verdict in verdicts for unit in _units(verdict) if unit.rank is not None]
    if len(every) < 2 or rank_of_several_jobs(verdicts) is not None:
        return None
    units = [unit for unit in every if not _is_well(unit.verdict)]
    well = {like(each) for verdict in verdicts if _is_well(verdict) for each in verdict.report.findings}
    together = _ended_together(units, clocks)
    errors = [list(_errors(unit, clocks, like, well)) for unit in units]
    firsts = [
        min(found, key=_time) if found else _end(unit, clocks, together)
        for unit, found in zip(units, errors, strict=True)
    ]
    failures = [each for each in firsts if each is not None]
    wanted = [each for each in failures if not each.by_others] or [
        each for each in failures if each.waiting is not None
    ]
    if not wanted:
        return None
    first = min(wanted, key=_time)
    followers = [each for each in failures if each.follows and not _is_the_same(each, first, like)]
    folded = {id(each.cause) for found in errors for each in found if _is_folded(each, first, like)}
    return Found(_told(first, followers, clocks.told), first, frozenset(folded))


def rank_of_several_jobs(verdicts: Sequence[Verdict]) -> int | None:
    """A rank that two recordings have: they are of different jobs."""
    seen: set[int] = set()
    for verdict in verdicts:
        own = {each.rank.rank for each in verdict.processes if each.rank is not None}
        if both := seen & own:
            return min(both)
        seen |= own
    return None


def _time(failure: Failure) -> tuple[int, bool]:
    return failure.time_ns, failure.follows


def _is_folded(failure: Failure, first: Failure, like: Like) -> bool:
    """Whether what went wrong is told as a follower."""
    return failure.follows and failure.time_ns >= first.time_ns and not _is_the_same(failure, first, like)


def _is_the_same(failure: Failure, first: Failure, like: Like) -> bool:
    """Whether it is the first failure, or the same mistake made by another rank."""
    if failure is first or failure.unit is first.unit:
        return True
    if not isinstance(first.cause, Finding):
        return False
    rank = failure.unit.rank
    return (rank is not None and rank.rank in first.cause.ranks) or (
        isinstance(failure.cause, Finding) and like(failure.cause) == like(first.cause)
    )


def _told(first: Failure, followers: Sequence[Failure], clocks: str) -> FirstFailure:
    return FirstFailure(
        process=first.process,
        rank=first.unit.rank,
        text=f"{first.text}{first.where}",
        time_ns=first.time_ns,
        finding=isinstance(first.cause, Finding),
        waiting=first.waiting,
        clocks=clocks,
        followers=tuple(_followers(followers, first)),
    )


def stood(verdicts: Sequence[Verdict], found: Found | None) -> tuple[Waiting, ...]:
    """The calls in which ranks were when somebody ended the job; none if a rank failed by itself. The odd ones out come first."""
    if found is not None and not found.failure.by_others:
        return ()
    groups: dict[object, list[tuple[Rank, Waiting]]] = {}
    for verdict in verdicts:
        for lived in verdict.processes if not _is_well(verdict) else ():
            for each in lived.waiting:
                if lived.rank is not None:
                    groups.setdefault((each.site.api, each.site.frames), []).append((lived.rank, each))
    shown = found.failure.waiting if found is not None else None
    told = [_together(group) for group in groups.values() if [each for _, each in group] != [shown]]
    return tuple(sorted(told, key=lambda each: len(each.ranks)))


def _together(group: Sequence[tuple[Rank, Waiting]]) -> Waiting:
    """The one that has waited longest, with the ranks of all."""
    rank, longest = max(group, key=lambda each: each[1].for_ns or 0)
    site = replace(longest.site, rank=rank)
    return replace(longest, site=site, ranks=tuple(sorted({each.rank for each, _ in group})))


def _is_well(verdict: Verdict) -> bool:
    """Whether its program ended, and well. Of one whose end nobody has seen it is not known."""
    program = verdict.report.program
    return program.exit_code == 0 or any(each.running for each in verdict.processes)


def _units(verdict: Verdict) -> Iterator[Unit]:
    of_rank: dict[Rank | None, list[Lived]] = {}
    for lived in verdict.processes:
        of_rank.setdefault(lived.rank, []).append(lived)
    alone = len(of_rank) <= 1
    for rank, processes in of_rank.items() or [(None, [])]:
        yield Unit(verdict, rank, tuple(processes), alone)


def _errors(unit: Unit, clocks: Clocks, like: Like, well: set[object]) -> Iterator[Failure]:
    """What went wrong in calls, unless it did too where the program ended well."""
    lived = {each.process: each for each in unit.processes}

    def failure(site: Site, text: str, cause: Finding | UnexplainedFailure, *, follows: bool) -> Failure:
        time_ns = clocks.of_call(unit.verdict, lived[site.process], site.time_ns)
        return Failure(unit, site.process, time_ns, text, follows=follows, cause=cause)

    for finding in unit.verdict.report.findings:
        failed = finding.severity == "error" or (finding.severity == "warning" and (finding.status or finding.signal))
        if failed and finding.site.process in lived and like(finding) not in well:
            yield failure(finding.site, _of_finding(finding), finding, follows=finding.name == STICKY)
    for each in unit.verdict.report.unexplained:
        communicates = api_of(each.api) == _COMMUNICATION
        if each.site.process in lived and not each.reason and (communicates or each.library is None):
            text = f"{each.api} returned {status_name(api_of(each.api), each.status)} ({each.status})"
            yield failure(each.site, text, each, follows=communicates)


def _of_finding(finding: Finding) -> str:
    message = finding.message if finding.message.startswith(finding.api) else f"{finding.api}: {finding.message}"
    return f"{message} ({finding.rule} {finding.name})"


def _end(unit: Unit, clocks: Clocks, together: bool) -> Failure | None:
    """How it ended, where no call tells why it failed."""
    program, verdict = unit.verdict.report.program, unit.verdict
    if not unit.processes:
        return None
    main = next((each for each in unit.processes if each.process == verdict.program), unit.processes[0])
    after = f" after {main.last_api}" if main.last_api else ""
    if not unit.alone or verdict.ended is None:
        last_ns = clocks.of_call(verdict, main, main.last_ns)
        return (
            None if main.ended else Failure(unit, main.process, last_ns, _UNSEEN, after, by_others=True, follows=True)
        )
    ended_ns = clocks.time_ns(verdict, verdict.ended.monotonic_ns)
    if program.signal is None:
        return Failure(unit, main.process, ended_ns, f"ended with exit code {program.exit_code}", follows=True)
    waiting = _waiting(unit.processes)
    by_others = program.signal in ENDED_BY_OTHERS and (program.signal != SIGKILL or together)
    text = f"died of {signal_name(program.signal)}"
    where = f" in {waiting.site.api}" if waiting is not None else after
    waited_ns = waiting.for_ns or 0 if waiting is not None else 0
    if by_others and waited_ns >= TOGETHER_NS:
        least = "at least " if waiting is not None and waiting.at_least else ""
        where += f", in which it had been for {least}{waited_ns / 1e9:.1f} s"
        since = ended_ns - waited_ns
        return Failure(unit, main.process, since, text, where, by_others=True, follows=True, waiting=waiting)
    return Failure(unit, main.process, ended_ns, text, where, by_others=by_others, follows=True)


def _waiting(processes: Sequence[Lived]) -> Waiting | None:
    """The call that a rank was in: of a main thread, if one was in a call, or the oldest."""
    calls = [each for lived in processes for each in lived.waiting]
    return min(calls, key=lambda each: (each.site.thread != each.site.process, each.site.time_ns), default=None)


def _ended_together(units: Sequence[Unit], clocks: Clocks) -> bool:
    """Whether one signal ended several programs at once."""
    ended = {
        unit.verdict.directory: (
            unit.verdict.report.program.signal,
            clocks.time_ns(unit.verdict, unit.verdict.ended.monotonic_ns),
        )
        for unit in units
        if unit.verdict.ended is not None
    }
    times = [time for _, time in ended.values()]
    one_signal = len({number for number, _ in ended.values()}) == 1
    return len(ended) > 1 and one_signal and max(times) - min(times) < TOGETHER_NS


def _followers(failures: Sequence[Failure], first: Failure) -> Iterator[Follower]:
    """Those that read alike in one line each, the first of them first."""
    alike: dict[str, list[Failure]] = {}
    for failure in sorted(failures, key=lambda each: each.time_ns):
        alike.setdefault(failure.text, []).append(failure)
    for text, each in alike.items():
        ranks = tuple(sorted({failure.unit.rank.rank for failure in each if failure.unit.rank is not None}))
        after = max(0, each[0].time_ns - first.time_ns)
        yield Follower(text=text, ranks=ranks, processes=len(each), after_ns=after)
