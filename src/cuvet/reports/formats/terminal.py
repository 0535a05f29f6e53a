"""For people."""

from typing import TextIO

from cuvet.reports import Document


def write(document: Document, out: TextIO, color: str) -> None:
    """As the document shows itself. ``color`` is auto, always or never."""
    document.show(out, color)
