"""What ``cuvet check`` found: for people, in lines, and as JSON (``cuvet-check/1``, whose schema is ``check.schema.json``)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cuvet.findings import Finding, Frame, Step
from cuvet.printable import printable
from cuvet.reports import Document
from cuvet.reports.source import window
from cuvet.reports.summary import hidden, severities
from cuvet.reports.terminal import STYLES, console, headline, labelled, line, show
from cuvet.sizes import counted
from cuvet.source import NotChecked
from cuvet.source.tool.fingerprints import place
from cuvet.source.tool.lines import line_of
from cuvet.source.tool.report import CheckFinding, CheckReport, Ignore

SCHEMA_FILE = Path(__file__).with_name("check.schema.json")
_Row = tuple[Frame, str, str]
"""A place, what is said of it, and its style."""
_PLACE = "blue"
_STEP = "cyan"
_TAB = 4
MOST_ALIKE = {"error": 20, "warning": 20, "note": 5}
"""Findings of one rule in one file that are shown; clang, too, stops after 20 errors."""
MOST_NOTES = 10
"""Notes of one rule of all files that are shown in full: what most functions of a program ignore is told soon, and errors scroll away."""
FIRST_STEPS, LAST_STEPS = 6, 3
"""Steps of a longer path that are shown, and the one where the finding is: what one function ignores can be a hundred calls."""
_MOST_UNCHECKED = 5
"""Reasons why something was not checked that are told one by one."""


def document(report: CheckReport, *, stats: bool = False) -> Document:
    """The report, for any format of ``cuvet check``; with ``stats``, people see how many findings each rule has."""
    show_it = count if stats else render
    return Document(report, lambda out, color: show_it(report, console(out, color)))


def render(report: CheckReport, output: Console, *, concise: bool = False) -> None:
    """Each finding with its source and its path, or in one line; then what is to be said of the run."""
    explained: set[str] = set()
    findings, more_notes = (report.findings, []) if concise else first_notes(report.findings)
    shown, more = first_of_each(findings)
    for finding in shown:
        if concise:
            show(output, in_a_line(place(finding), headline(finding)))
        else:
            _finding(finding, output, known=finding.rule not in explained)
            explained.add(finding.rule)
            show(output, "")
    for sentence in (*more, *more_notes):
        line(output, Text("not shown", STYLES["note"]).append(f": {printable(sentence)}", "default not bold"))
    _about_the_run(report, output)


def count(report: CheckReport, output: Console) -> None:
    """A line for each rule, with the most findings first; then what is to be said of the run."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for finding in report.findings:
        found.setdefault((finding.severity, finding.rule, finding.name), []).append(place(finding).file or "?")
    longest = max((len(name) for _, _, name in found), default=0)
    for (severity, rule, name), files in sorted(found.items(), key=lambda each: -len(each[1])):
        row = Text(f"{len(files):>7,}  {rule}  ").append(f"{severity:<8}", style=STYLES[severity])
        show(output, row.append(f" {name:<{longest}}  in {counted(len(set(files)), 'file')}", style="default"))
    _about_the_run(report, output)
    lines, paths = (report.stats.get(name, 0) for name in ("lines", "paths"))
    line(output, f"{counted(lines, 'line')} read, {counted(paths, 'path')} through functions followed")


def _about_the_run(report: CheckReport, output: Console) -> None:
    for ignore in report.unused_ignores:
        show(output, in_a_line(frame_of(ignore), Text(f"warning: {printable(ignore.why)}")))
    for unread in report.unread:
        show(output, Text("error", STYLES["error"]).append(f": {printable(f'{unread.file}: {unread.why}')}", "default"))
    for sentence in _not_checked(report):
        line(output, Text("not checked", STYLES["warning"]).append(f": {printable(sentence)}", "default not bold"))
    line(output, _totals(report))


def first_of_each(findings: Sequence[CheckFinding]) -> tuple[list[CheckFinding], list[str]]:
    """The first ``MOST_ALIKE`` findings of each rule in each file; and how many more there are, in sentences."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    left: Counter[tuple[str, str]] = Counter()
    shown = []
    for finding in findings:
        file = place(finding).file or "?"
        alike = (file, finding.name, finding.severity == "note")
        counts[alike] += 1
        if counts[alike] <= MOST_ALIKE[finding.severity]:
            shown.append(finding)
        else:
            left[file, finding.name] += 1
    more = [f"{file}: {count:,} more {name}; --format json lists them" for (file, name), count in left.items()]
    return shown, more


def first_notes(findings: Sequence[CheckFinding]) -> tuple[list[CheckFinding], list[str]]:
    """The first ``MOST_NOTES`` notes of each rule, with all else; and how many more there are, in sentences."""
    counts: Counter[str] = Counter()
    left: dict[str, list[CheckFinding]] = {}
    shown = []
    for finding in findings:
        counts[finding.name] += finding.severity == "note"
        if finding.severity != "note" or counts[finding.name] <= MOST_NOTES:
            shown.append(finding)
        else:
            left.setdefault(finding.name, []).append(finding)
    more = [
        f"{counted(len(found), 'more note')} of {name} in {counted(len({place(each).file for each in found}), 'file')}; "
        "--format json lists them"
        for name, found in left.items()
    ]
    return shown, more


def frame_of(ignore: Ignore) -> Frame:
    """Where a comment is."""
    return Frame(function="", file=ignore.file, line=ignore.line, column=ignore.column, end_column=ignore.end_column)


def in_a_line(frame: Frame, text: Text) -> Text:
    """As compilers write it, so that editors find the place."""
    return Text(f"{_position(frame)}: ", style=_PLACE).append_text(text)


def _position(frame: Frame) -> str:
    """``src/a.cu:41:7``."""
    parts = (printable(frame.file or frame.module or "?"), frame.line, frame.column)
    return ":".join(str(part) for part in parts if part is not None)


def _finding(finding: CheckFinding, output: Console, known: bool) -> None:
    """``known``: what is known about the rule is told, which is done once."""
    site = place(finding)
    line(output, headline(finding))
    line(output, _arrow(site), indent=6)
    rows = _rows(finding)
    told = _told(rows, STYLES[finding.severity])
    gutter = max(len(str(frame.line)) for _, (frame, _, _) in told)
    shown: Frame | None = None
    last = 0
    for number, (frame, text, style) in told:
        if left := number - last - 1:
            line(output, Text(f"{'':>{gutter}} … {counted(left, 'step')} more; --format json lists them", style=_PLACE))
        again = number == last + 1 and shown is not None and _same_line(shown, frame)
        last = number
        if frame.file != (shown or site).file:
            line(output, _arrow(frame), indent=6)
        label = f"{number}: {text}" if len(rows) > 1 and text else text
        _excerpt(frame, label, style, gutter, output, again=again)
        shown = frame
    for reason in finding.because:
        labelled("because", reason, output)
    if finding.help:
        labelled("help", finding.help, output)
    for evidence in finding.evidence if known else ():
        labelled(evidence.kind, f"{evidence.text} ({evidence.source})", output)
    labelled("more", f"cuvet explain {finding.rule}", output)


def _arrow(frame: Frame) -> Text:
    where = f" in {printable(frame.function)}" if frame.function else ""
    return Text("  --> ", style=_PLACE).append(_position(frame) + where)


def steps(finding: Finding) -> Iterator[Step]:
    """How the place is reached: the path, or without one where the objects were created and destroyed."""
    if finding.path:
        yield from finding.path
        return
    for it in finding.objects:
        for site, what in ((it.created, "created"), (it.destroyed, "destroyed")):
            if site is not None and site.frames:
                yield Step(frame=site.frames[0], text=f"{it.name} is {what} here")


def _rows(finding: CheckFinding) -> list[_Row]:
    """The path with the finding's place in it: the step that is there, else the last on its line, else a row at the end."""
    site, style = place(finding), STYLES[finding.severity]
    rows = [(step.frame, step.text, _STEP) for step in steps(finding)]
    on_line = [i for i, (frame, _, _) in enumerate(rows) if _same_line(frame, site)]
    there = [i for i in on_line if rows[i][0].column == site.column]
    index = (there or on_line or [len(rows)])[-1]
    rows[index : index + 1] = [(site, rows[index][1] if index < len(rows) else "", style)]
    return rows


def _told(rows: list[_Row], style: str) -> list[tuple[int, _Row]]:
    """The steps that are shown, with their numbers: of many the first, the last, and the one in that style."""
    numbered = list(enumerate(rows, 1))
    if len(rows) <= FIRST_STEPS + LAST_STEPS + 2:
        return numbered
    most = len(rows) - LAST_STEPS
    told = {at for at, row in numbered if at <= FIRST_STEPS or at > most or row[2] == style}
    alone = {at for at, _ in numbered if {at - 1, at + 1} <= told}  # that it is left out would take as much room
    return [each for each in numbered if each[0] in told | alone]


def _same_line(one: Frame, other: Frame) -> bool:
    return (one.file, one.line) == (other.file, other.line)


def _excerpt(frame: Frame, label: str, style: str, gutter: int, output: Console, again: bool) -> None:
    """The line, what is meant in it, and what there is to say of it. With ``again`` the line stands just above."""
    text = line_of(Path(frame.file or ""), frame.line)
    start, end = (len(text[: (column or 1) - 1].expandtabs(_TAB)) for column in (frame.column, frame.end_column))
    room = max(output.width - gutter - 3, 20)
    part = window(text.expandtabs(_TAB), start, max(start + 1, end), room)
    if not again:
        row = Text(f"{frame.line:>{gutter}} | ", style=_PLACE)
        show(output, row.append(part.text, style="default"))
    carets = " " * part.start + "^" * max(1, part.end - part.start)
    said = [f"{carets} {printable(label)}".rstrip()]
    if output.file.isatty() and cell_len(said[0]) > room:
        said = [carets, printable(label)]
    for each in said:
        line(output, Text(f"{'':>{gutter}} | ", style=_PLACE).append(each, style=style), indent=gutter + 3)


def _not_checked(report: CheckReport) -> Iterator[str]:
    """What was not checked, told part by part if it is little."""
    parts = report.not_checked
    for part in parts[:_MOST_UNCHECKED]:
        lines = f"{part.first}-{part.last}" if part.last > part.first else str(part.first)
        yield f"{part.file}:{lines}: {part.why}"
    if len(parts) > _MOST_UNCHECKED:
        yield _rest(parts[_MOST_UNCHECKED:])
    yield from (f"{skipped.file}: {skipped.why}" for skipped in report.skipped[:_MOST_UNCHECKED])
    if len(report.skipped) > _MOST_UNCHECKED:
        yield f"{len(report.skipped) - _MOST_UNCHECKED:,} more paths that are not source files"


def _rest(parts: Sequence[NotChecked]) -> str:
    lines = sum(part.last - part.first + 1 for part in parts)
    files = len({part.file for part in parts})
    return f"{lines:,} more lines in {counted(files, 'file')}; --format json lists them"


def _totals(report: CheckReport) -> Text:
    """``1 error, 2 warnings in 34 files (210 functions that use CUDA)``."""
    parts = severities(report.findings)
    functions = report.stats.get("functions", 0)
    text = f"{', '.join(parts)} in {counted(report.stats.get('files', 0), 'file')}"
    text += f" ({counted(functions, 'function')} with CUDA)"
    text += hidden(report.hidden)
    if fixed := report.stats.get("fixed"):
        text += f"; {counted(fixed, 'fix', 'fixes')} made"
    return Text(text, style="bold" if parts[0].startswith("0 ") else "bold red")
