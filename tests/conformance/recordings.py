"""The recordings of random programs that lie beside this file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from cuvet.conformance.compare import Summary, tally
from cuvet.conformance.recording import Header, Session, read

FOLDER = Path(__file__).parent
FILES = tuple(sorted(FOLDER.glob("*.jsonl.zst")))
UNSEEN = tuple(sorted((FOLDER / "unseen").glob("*.jsonl.zst")))
"""The model was not fixed after these."""


@cache
def sessions(file: Path) -> tuple[Header, tuple[Session, ...]]:
    header, found = read(file)
    return header, tuple(found)


@cache
def summary_of(file: Path) -> Summary:
    """What the model got right and wrong in one of them."""
    return tally(*sessions(file))


@cache
def summary() -> Summary:
    """What the model got right and wrong, over all of ``FILES``."""
    total = Summary()
    for file in FILES:
        total.include(summary_of(file))
    return total
