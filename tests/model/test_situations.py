"""What the model answers to a call of each entry point, in each situation, is what the checked file has."""

from __future__ import annotations

from difflib import unified_diff

from .situations import FILE, text


def test_no_answer_has_changed() -> None:
    """If one was meant to: ``make generate``, and read what changed in the file."""
    kept = FILE.read_text(encoding="utf-8").splitlines()
    assert list(unified_diff(kept, text().splitlines(), "situations.txt", "now", lineterm="", n=2)) == []
