"""Comments ``// cuvet: ignore[RULE] reason`` in the sources of a program that was run: they are about a line of a finding's stack."""

from collections import Counter
from functools import lru_cache

import msgspec

from cuvet.findings import Finding, Frame, Report
from cuvet.reports.source import source_text
from cuvet.reports.terminal import located
from cuvet.source.tool.ignores import IgnoreComment, ignore_comments


def without_ignored(report: Report) -> Report:
    """The report without the findings that comments ignore; ``stats["ignored"]`` says how many these are."""
    kept = tuple(finding for finding in report.findings if not is_ignored(finding))
    ignored = Counter(ignored=len(report.findings) - len(kept))
    return msgspec.structs.replace(report, findings=kept, stats=dict(Counter(report.stats) + ignored))


def is_ignored(finding: Finding) -> bool:
    """Whether a comment names the rule at the call or at one of its callers, as far as these are the user's own sources."""
    called = (finding.name, finding.rule.lower())
    return any(
        name.lower() in called
        for frame in located(finding.site)
        for comment in _comments_in(frame)
        if comment.lines[0] <= (frame.line or 0) <= comment.lines[1]
        for name in comment.names
    )


def _comments_in(frame: Frame) -> tuple[IgnoreComment, ...]:
    text = source_text(frame.file) if frame.file and frame.line else None
    if text is None or "cuvet:" not in text:
        return ()
    return _comments(text, "c++" if frame.language == "cuda" else frame.language)


@lru_cache(maxsize=64)
def _comments(text: str, language: str) -> tuple[IgnoreComment, ...]:
    return ignore_comments(text.encode(), language)
