"""JSON as reports write it: ``cuvet-report/1``, whose schema is ``report.schema.json``, and the documents of the other commands."""

from __future__ import annotations

from pathlib import Path

import msgspec

from cuvet.findings import Report
from cuvet.printable import printable_json

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")


def render(report: Report) -> bytes:
    return document(report).encode()


def document(value: object) -> str:
    """The value as JSON for people and programs: indented, without a line break at its end."""
    return printable_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
