"""A page of what injected faults showed: one file that opens without a network. (``cuvet report --html`` makes that of a recording.)"""

from typing import TextIO

from cuvet.inject.outcome import InjectReport
from cuvet.reports import Document
from cuvet.reports.page.places import page_of


def write(document: Document, out: TextIO, color: str) -> None:
    """The page has a light and a dark theme of its own, and no ``color``."""
    if isinstance(document.content, InjectReport):
        out.write(page_of(document.content))
