"""A report as Markdown, for a comment on a pull request or the summary of a job: verdict, table of findings, each in full behind a click.

Names are of others: nothing in them is read as Markdown or HTML, nor as a mention of somebody. They stand in ``<code>``, with every
character that could mean something as a numeric reference, which cannot indicate structure (changes of CommonMark 0.29, #474), or in
``<pre>``.
"""

import html
from collections.abc import Iterator
from typing import TextIO

from cuvet.findings import Finding, Report
from cuvet.printable import printable
from cuvet.reports import Document, summary
from cuvet.reports.selection import select
from cuvet.reports.terminal import place_of, sentence, text_of, users_frame

_MOST_CHARACTERS = 60_000
"""Of a report: GitHub takes 65,536 for a comment ("body is too long (maximum is 65536 characters)")."""
_MOST_OF_CELL = 300
_MOST_LINES = 10
"""Of the summary."""


def write(document: Document, out: TextIO, color: str) -> None:
    """The report of a run. Markdown has no ``color``."""
    if isinstance(document.content, Report):
        out.write(text(document.content))


def text(report: Report) -> str:
    """The document. Findings that would make it too long are counted, not shown."""
    first, *rest = ("".join(words for words, _ in pieces) for pieces in summary.lines(report, None, 0))
    shown = select(report.findings)
    parts = [f"**cuvet: {html.escape(first)}**\n"]
    if shown:
        rows = map(_row, shown)
        parts.append("\n".join(("| severity | rule | finding | at |", "|---|---|---|---|", *rows, "")))
    if more := len(report.findings) - len(shown):
        parts.append(f"{more:,} more findings are not shown.\n")
    if rest:
        parts.append("\n".join((*(f"- {_code(line)}" for line in rest[:_MOST_LINES]), "")))
    parts += _details(report, shown, _MOST_CHARACTERS - sum(map(len, parts)))
    return "\n".join(parts)


def _row(finding: Finding) -> str:
    frame = users_frame(finding)
    where = _code(place_of([frame])) if frame else ""
    return f"| {finding.severity} | {_code(finding.rule)} | {_code(sentence(finding))} | {where} |"


def _details(report: Report, findings: list[Finding], room: int) -> Iterator[str]:
    """Each finding in full, as many as there is room for."""
    for number, finding in enumerate(findings):
        title = f"{finding.severity} {_code(f'{finding.rule} {finding.name}')}"
        full = html.escape(text_of(finding, report.program), quote=False)
        part = f"<details><summary>{title}</summary>\n\n<pre>\n{full}</pre>\n\n</details>\n"
        room -= len(part) + 1
        if room < 0:
            yield f"{len(findings) - number:,} of these findings are too long to be shown in full.\n"
            return
        yield part


def _code(words: str) -> str:
    """Text of others in one line, as it is."""
    safe = printable(words)
    cut = safe[:_MOST_OF_CELL] + "…" * (len(safe) > _MOST_OF_CELL)
    return f"<code>{''.join(c if _means_nothing(c) else f'&#{ord(c)};' for c in cut)}</code>"


def _means_nothing(character: str) -> bool:
    return character.isalnum() or character == " " or not character.isascii()
