"""A line for each finding, as compilers write it: editors find the place."""

from typing import TextIO

from rich.console import Console
from rich.text import Text

from cuvet.findings import Report
from cuvet.reports import Document, check, summary
from cuvet.reports.terminal import console, headline, line, show, users_frame
from cuvet.source.tool.report import CheckReport


def write(document: Document, out: TextIO, color: str) -> None:
    """The report of a check or of a run. ``color`` is auto, always or never."""
    if isinstance(document.content, CheckReport):
        check.render(document.content, console(out, color), concise=True)
    elif isinstance(document.content, Report):
        of_run(document.content, console(out, color))


def of_run(report: Report, output: Console) -> None:
    """Each finding at the innermost frame of the user's own code, then the summary."""
    for finding in report.findings:
        frame = users_frame(finding)
        show(output, check.in_a_line(frame, headline(finding)) if frame else headline(finding))
    for pieces in summary.lines(report, None, 0):
        line(output, Text.assemble(*pieces))
