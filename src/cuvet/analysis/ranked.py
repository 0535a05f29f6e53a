"""Names the rank of the process at every site of a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from msgspec.structs import replace

from cuvet.findings import EarlierCall, Finding, MemoryPlace, ObjectReport, Rank, Report, Site

RankOf = Callable[[int], Rank | None]
"""Of a process."""


def with_ranks(report: Report, rank_of: RankOf) -> Report:
    """The report with the rank of each process that has one."""
    return replace(
        report,
        findings=tuple(_finding(each, rank_of) for each in report.findings),
        unexplained=tuple(replace(each, site=_site(each.site, rank_of)) for each in report.unexplained),
        memory=None
        if report.memory is None
        else tuple(replace(use, places=_places(use.places, rank_of)) for use in report.memory),
    )


def _finding(finding: Finding, rank_of: RankOf) -> Finding:
    return replace(
        finding,
        site=_site(finding.site, rank_of),
        objects=tuple(_object(each, rank_of) for each in finding.objects),
        earlier=tuple(EarlierCall(text=each.text, site=_site(each.site, rank_of)) for each in finding.earlier),
        memory=_places(finding.memory, rank_of),
        consequences=tuple(_finding(each, rank_of) for each in finding.consequences),
    )


def _object(thing: ObjectReport, rank_of: RankOf) -> ObjectReport:
    return replace(thing, created=_site(thing.created, rank_of), destroyed=_site(thing.destroyed, rank_of))


def _places(places: tuple[MemoryPlace, ...], rank_of: RankOf) -> tuple[MemoryPlace, ...]:
    return tuple(replace(each, site=_site(each.site, rank_of)) for each in places)


@overload
def _site(site: Site, rank_of: RankOf) -> Site: ...
@overload
def _site(site: None, rank_of: RankOf) -> None: ...


def _site(site: Site | None, rank_of: RankOf) -> Site | None:
    return replace(site, rank=rank_of(site.process)) if site is not None else None
