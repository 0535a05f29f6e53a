"""What each call of the rules' programs returned on hardware: ``measured.txt``, which ``tests/hardware/calls.py`` writes.

A line is of one program: rule, sort, a hash of its text, how many calls it made, and those that did not return CUDA_SUCCESS.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cuvet.rules.examples import Example

FILE = Path(__file__).parent / "measured.txt"
_ROW = re.compile(r"(?P<key>\S+ (valid|invalid) \w+): (?P<calls>\d+) calls(?P<failed>.*)")
_FAILED = re.compile(r", (\d+) (\w+) (-?\d+)")


class Ends(NamedTuple):
    """``calls`` were made. ``failed``: by number, from 1 on, entry point and status of those that did not return CUDA_SUCCESS; a negative
    status is the signal in which the call ended."""

    calls: int
    failed: dict[int, tuple[str, int]]


def key(rule: str, kind: str, example: Example) -> str:
    """It changes when the program does, but not with its comments."""
    code = re.sub(r" *#.*", "", example.program)
    text = f"{example.devices} {example.setup}\n{code}"
    return f"{rule} {kind} {hashlib.sha256(text.encode()).hexdigest()[:12]}"


@cache
def read() -> dict[str, Ends]:
    """By key; empty where nothing was measured."""
    found: dict[str, Ends] = {}
    if not FILE.exists():
        return found
    for row in map(_ROW.fullmatch, FILE.read_text(encoding="utf-8").splitlines()):
        if row is not None:
            failed = {int(number): (name, int(status)) for number, name, status in _FAILED.findall(row["failed"])}
            found[row["key"]] = Ends(int(row["calls"]), failed)
    return found


def text_of(where: str, rows: dict[str, Ends]) -> str:
    """What ``read`` reads. ``where`` it was measured: GPU, driver, date."""
    head = f"# What each call of the rules' programs returned: {where}.\n# Those that are not named returned CUDA_SUCCESS.\n"
    lines = (
        f"{name}: {ends.calls} calls"
        + "".join(f", {number} {call[0]} {call[1]}" for number, call in ends.failed.items())
        for name, ends in sorted(rows.items())
    )
    return head + "\n".join(lines) + "\n"
