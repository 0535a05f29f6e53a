"""Which entry points the model treats as one sort of call is what the checked file has."""

from __future__ import annotations

from difflib import unified_diff

from .kinds_of_calls import FILE, text


def test_no_sort_of_call_has_changed() -> None:
    """If one was meant to: ``make generate``, and read what changed in the file."""
    kept = FILE.read_text(encoding="utf-8").splitlines()
    assert list(unified_diff(kept, text().splitlines(), "kinds_of_calls.txt", "now", lineterm="", n=0)) == []
