"""The findings on the page: what the terminal's report says of each with ``-v``, and whole stacks."""

from __future__ import annotations

from collections.abc import Sequence

from cuvet.findings import Finding, Frame, Report, Site, UnexplainedFailure
from cuvet.reports import terminal, unexplained
from cuvet.reports.page.markup import Markup, join, tag
from cuvet.reports.source import excerpt, window
from cuvet.sizes import counted

_ROOM = 160
"""Columns of a source line."""
_OPEN = 20
"""The first so many findings are not folded."""


def section(report: Report, shown: Sequence[Finding]) -> Markup:
    """``shown``: those of the report's findings that the page has room for."""
    more = len(report.findings) - len(shown)
    parts: list[Markup] = [_finding(index, each, report) for index, each in enumerate(shown)]
    if not report.findings:
        parts.append(tag("p", "No finding.", class_="none"))
    if more:
        left = f"{counted(more, 'more finding')} not shown, to keep this page small: `cuvet analyze -v` shows all."
        parts.append(tag("p", left, class_="left"))
    return tag(
        "section",
        tag("h2", "Findings"),
        tag("p", id="matching", class_="left", aria_live="polite"),
        *parts,
        id="findings",
    )


def _finding(index: int, finding: Finding, report: Report) -> Markup:
    rows = terminal.explanation(finding, report.program, finding.evidence)
    body = [
        _site(finding.site, finding.argument),
        *(_earlier(text.plain, site) for text, site in terminal.history(finding)),
        tag("dl", *(join(tag("dt", label), tag("dd", said)) for label, said in rows), class_="why"),
        tag("p", tag("button", "Show in the timeline", type="button", class_="locate"), class_="controls"),
    ]
    headline = join(
        tag("span", f"{finding.severity}[{finding.rule}]", class_=f"tag {finding.severity}"),
        " ",
        tag("span", terminal.sentence(finding), class_="message"),
        " ",
        tag("span", finding.name, class_="name"),
    )
    return tag(
        "article",
        tag("details", tag("summary", tag("h3", headline)), *body, open=index < _OPEN),
        id=f"finding-{index + 1}",
        class_=f"finding {finding.severity}",
        tabindex="-1",
        data_index=index,
        data_rule=finding.rule,
        data_severity=finding.severity,
        data_api=finding.api,
        data_process=finding.site.process,
        data_thread=f"t{finding.site.process}/{finding.site.thread}",
        data_stream=" ".join(f"s{finding.site.process}/{handle}" for handle in _streams(finding)),
    )


def _streams(finding: Finding) -> dict[str, None]:
    return dict.fromkeys(each.handle for each in finding.objects if each.kind == "stream")


def _earlier(said: str, site: Site | None) -> Markup:
    note = tag("p", said, class_="note")
    return join(note, _site(site, None)) if site is not None else note


def _site(site: Site, argument: int | None) -> Markup:
    """Where a call was made, with its source if the terminal's report may show it, and the stack."""
    frames = terminal.located(site)
    where = terminal.place_of(frames) or "no stack was recorded"
    time = f"  thread {site.thread}, call #{site.call:,}, at {terminal.duration(site.time_ns)}"
    call = time if site.call else ""  # of a place, that of no run
    head = tag("p", tag("span", where, class_="where"), tag("span", call, class_="dim"), class_="site")
    source = _source(frames[0], site.api, argument) if frames else Markup()
    return tag("div", head, source, _stack(site, frames[:1]), class_="call")


def _source(frame: Frame, api: str, argument: int | None) -> Markup:
    found = excerpt(frame.file, frame.line, api, argument) if frame.file and frame.line else None
    if found is None:
        return Markup()
    rows = []
    for number, line in enumerate(found.lines, found.first):
        mark = found.mark if found.mark and found.mark.line == number else None
        part = window(line, mark.start if mark else 0, mark.end if mark else 0, _ROOM)
        marked = tag("mark", part.text[part.start : part.end]) if mark else ""
        code = join(part.text[: part.start], marked, part.text[part.end :])
        rows.append(tag("tr", tag("td", number, class_="number"), tag("td", code)))
    return tag("table", *rows, class_="source", role="presentation")


def _stack(site: Site, innermost: Sequence[Frame]) -> Markup:
    if len(site.frames) < 2:
        return Markup()
    rows = [tag("li", _frame(frame), class_="own" if frame in innermost else None) for frame in site.frames]
    return tag("details", tag("summary", f"stack, {counted(len(rows), 'frame')}"), tag("ol", *rows), class_="stack")


def _frame(frame: Frame) -> str:
    module = f" ({frame.module})" if frame.module else ""
    return f"{terminal.place_of([frame])}{module}"


def failures(report: Report) -> Markup:
    """Calls that failed and that no rule explains."""
    if not report.unexplained:
        return Markup()
    more = report.stats.get("unexplained_failures", 0) - sum(each.count for each in report.unexplained)
    left = tag("p", f"{more:,} more failed calls are not listed.", class_="left") if more > 0 else Markup()
    return tag(
        "section",
        tag("h2", "Failed calls that no rule explains"),
        *map(_failure, report.unexplained),
        left,
        id="failures",
    )


def _failure(failure: UnexplainedFailure) -> Markup:
    causes = [tag("li", f"{cause.title} (cuvet explain {cause.cause})") for cause in failure.causes]
    listed = join(tag("p", "It may be:", class_="note"), tag("ul", *causes)) if causes else Markup()
    head = tag("h3", unexplained.sentence(failure))
    return tag("article", head, _site(failure.site, None), listed, class_="failure")
