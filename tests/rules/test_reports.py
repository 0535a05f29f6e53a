"""What is reported of the programs of rules is what the checked file has."""

from __future__ import annotations

import re
from difflib import unified_diff

import pytest

from .reports import FILE, HEAD, NOUNS, section

KEPT = re.split(r"(?=^\n# )", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
"""The head, and the sections by noun. If what is reported was meant to change: ``make generate``, and read what changed in the file."""


@pytest.mark.parametrize(("noun", "kept"), list(zip(NOUNS, KEPT[1:], strict=True)), ids=NOUNS)
def test_the_reports_have_not_changed(noun: str, kept: str) -> None:
    now = section(noun)
    assert list(unified_diff(kept.splitlines(), now.splitlines(), "reports.txt", "now", lineterm="", n=0)) == []


def test_the_file_says_what_it_is() -> None:
    assert KEPT[0] == HEAD
