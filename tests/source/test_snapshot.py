"""What is said of every source here, with its lines, columns, steps and counts, has not changed."""

from __future__ import annotations

import runpy
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "source_snapshot.py"))
GROUPS: dict[str, list[Any]] = TOOL["groups"]()
"""If what is said was meant to change: ``make generate``, and read what changed in the file."""


@cache
def kept() -> dict[str, list[str]]:
    """The lines of the file, by group."""
    _, *parts = ("\n" + TOOL["SNAPSHOT"].read_text(encoding="utf-8").removeprefix(TOOL["HEAD"])).split("\n# ")
    return {lines[0]: lines[1:] for lines in (part.strip("\n").split("\n") for part in parts)}


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_said_of_a_group_of_sources_has_not_changed(group: str) -> None:
    _, *now = TOOL["snapshot"](group, GROUPS[group])
    assert list(unified_diff(kept()[group], now, "snapshot.txt", "what is said now", lineterm="", n=0)) == []


def test_nothing_else_is_kept() -> None:
    assert list(kept()) == list(GROUPS)
