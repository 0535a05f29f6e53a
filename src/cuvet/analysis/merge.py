"""One report of several recordings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from cuvet import CuvetError
from cuvet.analysis.clocks import Clocks
from cuvet.analysis.first import first_failure, rank_of_several_jobs, stood
from cuvet.analysis.folding import folded_failures
from cuvet.analysis.process import ProcessAnalysis
from cuvet.analysis.verdicts import Options, Verdict, recordings_below, verdict_on
from cuvet.analysis.workers import Judge, Judged, Outcome, Tell, Unreadable, judged, number_of_workers
from cuvet.findings import Finding, Report

MOST_UNREADABLE = 100
"""Recordings that are named, of those that cannot be read."""


def analyze(
    directories: Sequence[Path],
    *,
    leaks: bool = False,
    memory: bool = False,
    ignored: Callable[[Finding], bool] = lambda finding: False,
    then: Callable[[ProcessAnalysis], None] | None = None,
) -> Report:
    """The report of one or more recordings, each counted once. ``directories`` hold them, or are above them. ``then`` is called with each
    process, whose history can be asked for. CuvetError if a directory holds none, or only damaged ones."""
    options = Options(leaks, memory, ignored)
    return merged([verdict_on(each, options, then) for each in recordings_in(directories)], ignored=ignored)


def recordings_in(directories: Sequence[Path]) -> list[Path]:
    """Those that the directories hold, or that lie below them: each once, by whatever name it is given. CuvetError if there is none."""
    found = (each for directory in directories for each in recordings_below(directory))
    return list({os.path.realpath(each): each for each in found}.values())


def analyze_many(
    directories: Sequence[Path], options: Options, tell: Tell = lambda count: None, judge: Judge = verdict_on
) -> Report:
    """The report of recordings, by several processes. A recording that cannot be read is named in what was not checked. CuvetError if none
    can be read."""
    return report_of(judged(directories, options, number_of_workers(len(directories)), tell, judge), options)


def report_of(outcomes: Sequence[Outcome], options: Options) -> Report:
    """As of ``analyze_many``, from what came of each recording."""
    verdicts = [each.verdict for each in outcomes if isinstance(each, Judged)]
    unreadable = [each.why for each in outcomes if isinstance(each, Unreadable)]
    if not verdicts:
        raise CuvetError(unreadable[0])
    more = len(unreadable) - MOST_UNREADABLE
    left_out = [f"and {more:,} more recordings that could not be read"] if more > 0 else []
    return merged(verdicts, [*unreadable[:MOST_UNREADABLE], *left_out], options.ignored)


def merged(
    verdicts: Sequence[Verdict],
    unreadable: Sequence[str] = (),
    ignored: Callable[[Finding], bool] = lambda finding: False,
) -> Report:
    """The report of all. What could not be judged comes first in what was not checked: ``unreadable``. ``ignored``: as of ``Findings``."""
    verdicts = sorted(verdicts, key=_rank)
    if len(verdicts) == 1 and len({each.rank for each in verdicts[0].processes}) <= 1:
        report = verdicts[0].report
        return replace(report, not_checked=(*unreadable, *report.not_checked))
    reports = [verdict.report for verdict in verdicts]
    clocks = Clocks(verdicts)
    found = first_failure(verdicts, clocks, alike)
    told = found.folded if found is not None else frozenset()
    findings = _findings(verdicts, clocks, told, ignored)
    if found is not None and isinstance(cause := found.failure.cause, Finding):
        findings.sort(key=lambda each: alike(each) != alike(cause))
    programs = [report.program for report in reports]
    failed = [found.failure.unit.verdict.report.program] if found is not None else []
    failed += [each for each in programs if each.signal is not None or each.exit_code]
    stats: Counter[str] = Counter()
    for report in reports:
        stats.update(report.stats)
    return replace(
        reports[0],
        program=next(iter([*failed, *programs])),
        ranks=tuple(each for report in reports for each in report.ranks),
        first_failure=found.told if found is not None else None,
        waiting=stood(verdicts, found),
        findings=tuple(findings),
        unexplained=folded_failures(
            failure for report in reports for failure in report.unexplained if id(failure) not in told
        ),
        machine=tuple(dict.fromkeys(cause for report in reports for cause in report.machine)),
        memory=None if reports[0].memory is None else tuple(use for each in reports for use in each.memory or ()),
        not_checked=tuple(dict.fromkeys([*unreadable, *(each for report in reports for each in report.not_checked)])),
        hints=tuple(dict.fromkeys([*_hints(verdicts), *(hint for report in reports for hint in report.hints)])),
        stats=dict(stats),
    )


def _hints(verdicts: Sequence[Verdict]) -> Iterator[str]:
    rank = rank_of_several_jobs(verdicts)
    if rank is not None:
        yield f"rank {rank} is in several recordings: analyze those of one job alone to be told which rank failed first"


def _rank(verdict: Verdict) -> int:
    """Recordings without a rank come last."""
    return min((each.rank.rank for each in verdict.report.ranks), default=1 << 62)


def alike(finding: Finding) -> object:
    """What findings have in common that are one for the reader: rule and place. Those of ranks may speak of other objects and devices;
    those of other processes say the same. Without a stack, ranks are in one place if it is the same call; nothing shows
    it of other processes."""
    earlier = tuple((each.site.api, each.site.frames) for each in finding.earlier[:1])
    site, ranked = finding.site, finding.site.rank is not None
    says: object = "" if ranked and site.frames else finding.message
    where = site.frames or (site.call if ranked else id(finding))
    return finding.rule, finding.api, says, where, earlier


def _findings(
    verdicts: Sequence[Verdict], clocks: Clocks, told: frozenset[int], ignored: Callable[[Finding], bool]
) -> list[Finding]:
    """Each once, as it occurred first, in the order of time."""
    groups: dict[object, list[tuple[int, Finding]]] = {}
    for verdict in verdicts:
        lived = {each.process: each for each in verdict.processes}
        for finding in verdict.report.findings:
            if id(finding) not in told:
                time_ns = clocks.of_call(verdict, lived[finding.site.process], finding.site.time_ns)
                groups.setdefault((alike(finding), ignored(finding)), []).append((time_ns, finding))
    each_first = ((min(group, key=lambda each: each[0]), [each for _, each in group]) for group in groups.values())
    return [_one(first, group) for (_, first), group in sorted(each_first, key=lambda each: each[0][0])]


def _one(first: Finding, group: Iterable[Finding]) -> Finding:
    group = list(group)
    ranks = {rank for each in group for rank in each.ranks}
    return replace(
        first,
        repeats=sum(each.repeats for each in group),
        processes=sum(each.processes for each in group),
        ranks=tuple(sorted(ranks)),
    )
