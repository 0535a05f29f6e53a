"""A line for each finding, as compilers write it: editors find the place."""

from typing import TextIO

from cuvet.reports import Document, check
from cuvet.reports.terminal import console
from cuvet.source.tool.report import CheckReport


def write(document: Document, out: TextIO, color: str) -> None:
    """The report of a check. ``color`` is auto, always or never."""
    if isinstance(document.content, CheckReport):
        check.render(document.content, console(out, color), concise=True)
