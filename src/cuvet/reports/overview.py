"""What pages and traces show of a recording that has more calls than they have room for, and when its processes began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cuvet.analysis.history import LATEST_NS, History
from cuvet.findings import Finding, Site
from cuvet.recording.reader import Array

MOST_FAILED = 1000
NEIGHBOURS = 40
"""Calls of a thread before and after a finding's call that are shown."""


def offsets(histories: Sequence[History]) -> list[int]:
    """When each process began, in nanoseconds after the first."""
    first = min((each.start_ns for each in histories), default=0)
    return [each.start_ns - first if each.start_ns - first < LATEST_NS else 0 for each in histories]


def chosen_calls(history: History, findings: Sequence[Finding], most: int) -> Array:
    """Indices of at most so many calls that are shown one by one: those of findings and their neighbours, those that failed, the longest in
    each part of the time."""
    count = len(history.thread)
    if count <= most:
        return np.arange(count)
    needed = np.zeros(count, bool)
    for site in (site for finding in findings for site in sites_of(finding)):
        if site.process == history.process:
            _mark(history, needed, site)
    failed = np.flatnonzero(history.status != 0)[:MOST_FAILED]
    needed[failed] = True
    if (more := int(needed.sum()) - most) > 0:
        needed[np.flatnonzero(needed)[-more:]] = False
    slots = max(most - int(needed.sum()), 1)
    slot = (history.entered_ns / (history.end_ns + 1) * slots).astype(np.int64)
    order = np.lexsort((-history.duration_ns, slot))
    firsts = order[np.concatenate([[True], np.diff(slot[order]) != 0])]
    needed[firsts[: max(most - int(needed.sum()), 0)]] = True
    rest = most - int(needed.sum())
    if rest > 0:
        others = np.flatnonzero(~needed)
        needed[others[np.argsort(-history.duration_ns[others], kind="stable")[:rest]]] = True
    return np.flatnonzero(needed)


def _mark(history: History, needed: Array, site: Site) -> None:
    """A call, and its neighbours on its thread."""
    own = np.flatnonzero(history.thread == site.thread)
    near = np.abs(history.number[own].astype(np.int64) - site.call) <= NEIGHBOURS
    needed[own[near]] = True


def sites_of(finding: Finding) -> Iterator[Site]:
    """Of all calls that belong to it, its own first."""
    yield finding.site
    for each in finding.objects:
        yield from (site for site in (each.created, each.destroyed) if site is not None)
    yield from (each.site for each in finding.earlier)
