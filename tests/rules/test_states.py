"""What the model knows after the programs of rules, and some others, is what the checked file has."""

from __future__ import annotations

import re
from difflib import unified_diff

import pytest

from .states import FILE, HEAD, SECTIONS, text_of

KEPT = re.split(r"(?=^\n# )", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
"""The head, and the sections. If what the model knows was meant to change: ``make generate``, and read what changed in the file."""


@pytest.mark.parametrize(("name", "kept"), list(zip(SECTIONS, KEPT[1:], strict=True)), ids=SECTIONS)
def test_the_states_have_not_changed(name: str, kept: str) -> None:
    now = text_of(name)
    assert list(unified_diff(kept.splitlines(), now.splitlines(), "states.txt", "now", lineterm="", n=0)) == []


def test_the_file_says_what_it_is() -> None:
    assert KEPT[0] == HEAD
