from __future__ import annotations

import pytest

from .every import of_every


def test_all_items_without_the_property_are_listed() -> None:
    @of_every([1, 2, 3, 4], lambda item: f"number {item}")
    def is_even(item: int) -> None:
        assert item % 2 == 0, "odd"

    with pytest.raises(AssertionError, match=r"^2 of 4\nnumber 1: odd.*\nnumber 3: odd.*$"):
        is_even()


def test_a_property_of_nothing_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="there are none"):
        of_every([])(lambda item: None)()
