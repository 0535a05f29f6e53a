"""How things are counted in what people read."""

from __future__ import annotations

import pytest

from cuvet.catalog import Kind
from cuvet.sizes import counted, plural


@pytest.mark.parametrize(
    ("noun", "several"),
    [("file", "files"), ("process", "processes"), ("array", "arrays"), ("library", "libraries")],
)
def test_plurals(noun: str, several: str) -> None:
    assert plural(noun) == several
    assert [counted(0, noun), counted(1, noun), counted(5120, noun)] == [
        f"0 {several}",
        f"1 {noun}",
        f"5,120 {several}",
    ]


def test_every_kind_of_object_has_a_plural_in_english() -> None:
    irregular = {plural(kind.counted) for kind in Kind} - {f"{kind.counted}s" for kind in Kind}
    assert irregular == {"libraries", "external memories"}
