"""Findings as a list: a report has what follows from a finding below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cuvet.findings import Finding


def with_consequences(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Each finding, and after it what is told below it."""
    for finding in findings:
        yield finding
        yield from finding.consequences
