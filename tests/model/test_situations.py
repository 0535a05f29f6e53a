"""What the model answers to a call of each entry point, in each situation, is what the checked file has."""

from __future__ import annotations

import pytest

from .situations import FILE, HEAD, apart, blocks, by_noun, entry_points, together

TEXT = FILE.read_text(encoding="utf-8")
NOUNS = by_noun(entry_points())


@pytest.mark.parametrize("noun", NOUNS)
def test_no_answer_has_changed(noun: str) -> None:
    """If one was meant to: ``make generate``, and read what changed in the file."""
    kept = apart(TEXT)
    now = dict(blocks(NOUNS[noun]))
    assert now == {name: kept.get(name) for name in now}


def test_the_file_has_nothing_else() -> None:
    kept = apart(TEXT)
    assert kept.keys() == {each.name for each in entry_points()}
    assert together(HEAD, ((each.name, kept[each.name]) for each in entry_points())) == TEXT
