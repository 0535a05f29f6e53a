"""Comments ``// cuvet: ignore[RULE] reason`` in the sources of a program that was run: they are about a line of a finding's stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from cuvet.findings import Finding, Frame, Report

if TYPE_CHECKING:
    from cuvet.source.tool.ignores import IgnoreComment


def without_ignored(report: Report) -> Report:
    """The report without the findings that comments ignore; ``stats["ignored"]`` says how many these are, and a hint each what is wrong
    with a comment at a finding."""
    if not report.findings:
        return report
    from cuvet.source.tool.ignores import mistakes  # start: only for findings

    kept, hidden = without(is_ignored, report.findings)
    ignored = Counter(ignored=hidden)
    wrong = dict.fromkeys(
        f"{frame.file}:{comment.line}: {why}"
        for finding in report.findings
        for frame, comment in _comments_at(finding)
        for why in mistakes(comment)
    )
    stats = dict(Counter(report.stats) + ignored)
    return msgspec.structs.replace(with_findings(report, kept), hints=(*report.hints, *wrong), stats=stats)


def without(hides: Callable[[Finding], bool], findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], int]:
    """The findings that are not hidden, and how many are. What the same rule says of what follows from a hidden one stands by itself then:
    that may be a mistake although the other is none."""
    kept: list[Finding] = []
    count = 0
    for finding in findings:
        if hides(finding):
            behind, more = without(hides, (each for each in finding.consequences if each.name == finding.name))
            kept += behind
            count += 1 + more
        else:
            kept.append(finding)
    return tuple(kept), count


def with_findings(report: Report, kept: tuple[Finding, ...]) -> Report:
    """The report with those of its findings that are ``kept``, which the first failure is none of if it is left out."""
    first = report.first_failure
    if first is not None and first.finding and kept[:1] != report.findings[:1]:
        first = msgspec.structs.replace(first, finding=False)
    return msgspec.structs.replace(report, findings=kept, first_failure=first)


def is_ignored(finding: Finding) -> bool:
    """Whether a comment names the rule at the call or at one of its callers, as far as these are the user's own sources."""
    called = (finding.name, finding.rule.lower())
    return any(name.lower() in called for _, comment in _comments_at(finding) for name in comment.names)


def _comments_at(finding: Finding) -> Iterator[tuple[Frame, IgnoreComment]]:
    """The comments at the call or at one of its callers, each with its frame."""
    from cuvet.reports.terminal import located  # start: only for findings

    for frame in located(finding.site):
        for comment in _comments_in(frame):
            if comment.lines[0] <= (frame.line or 0) <= comment.lines[1]:
                yield frame, comment


def _comments_in(frame: Frame) -> tuple[IgnoreComment, ...]:
    from cuvet.reports.source import source_text  # start: only for findings

    text = source_text(frame.file) if frame.file and frame.line else None
    if text is None or "cuvet:" not in text:
        return ()
    return _comments(text, "c++" if frame.language == "cuda" else frame.language)


@lru_cache(maxsize=64)
def _comments(text: str, language: str) -> tuple[IgnoreComment, ...]:
    from cuvet.source.tool.ignores import ignore_comments  # start: only for such comments

    return ignore_comments(text.encode(), language)
