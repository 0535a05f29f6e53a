"""The report as JSON: ``cuvet-report/1``, whose schema is ``report.schema.json``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from cuvet.findings import Report

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")


def render(report: Report) -> bytes:
    return msgspec.json.format(msgspec.json.encode(report), indent=2)
