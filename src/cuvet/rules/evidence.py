"""Short forms for a rule's evidence: what was measured, and what a document says."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

import cuvet
from cuvet.findings import Evidence

MACHINE = "NVIDIA H200, driver 580.159, CUDA 13.0"
RECORDED = "NVIDIA H200, driver 580.159.04, 2026-11-21, conformance recordings"


class _Fact(msgspec.Struct):
    id: str
    date: str = ""


def measured(text: str, *facts: str) -> Evidence:
    """Observed on hardware by the programs of these ids in the facts files. KeyError if there is none of an id."""
    dates = sorted({_dates()[fact] for fact in facts} - {""})
    return Evidence(kind="measured", text=text, source=", ".join([MACHINE, *dates, *facts]))


def recorded(text: str) -> Evidence:
    """Observed on hardware in recordings of random programs (``tests/conformance``)."""
    return Evidence(kind="measured", text=text, source=RECORDED)


def documented(text: str, source: str) -> Evidence:
    """Written in ``source``: document and section, for example ``CUDA Driver API, cuStreamDestroy``."""
    return Evidence(kind="documented", text=text, source=source)


def reported(text: str, source: str) -> Evidence:
    """Established in a public thread, at the address ``source``."""
    return Evidence(kind="reported", text=text, source=source)


@cache
def _dates() -> dict[str, str]:
    """When each fact was measured, by its id; empty if that was not noted."""
    files = sorted((Path(cuvet.__file__).parent / "knowledge" / "facts").glob("*.jsonl"))
    rows = (msgspec.json.decode(line, type=_Fact) for file in files for line in file.read_bytes().splitlines())
    return {row.id: row.date for row in rows}
