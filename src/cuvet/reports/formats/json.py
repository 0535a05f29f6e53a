"""JSON: ``cuvet-report/1`` and the documents of the other commands, whose schemas are in ``reports``."""

from typing import TextIO

import msgspec

from cuvet.printable import printable_json
from cuvet.reports import Document


def write(document: Document, out: TextIO, color: str) -> None:
    """What the document holds, with a line break at its end. JSON has no ``color``."""
    out.write(text(document.content) + "\n")


def text(value: object) -> str:
    """The value as JSON for people and programs: indented, without a line break at its end."""
    return printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
