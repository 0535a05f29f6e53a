"""What a successful call of each entry point changes, in each situation, is what the checked file has."""

from __future__ import annotations

from difflib import unified_diff

from .effects import FILE, text


def test_no_effect_has_changed() -> None:
    """If one was meant to: ``make generate``, and read what changed in the file."""
    kept = FILE.read_text(encoding="utf-8").splitlines()
    assert list(unified_diff(kept, text().splitlines(), "effects.txt", "now", lineterm="", n=2)) == []
