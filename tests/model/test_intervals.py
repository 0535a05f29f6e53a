"""The interval map against a list of bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cuvet.model.intervals import Intervals

SPAN = 60

OPERATIONS = st.lists(
    st.tuples(st.booleans(), st.integers(0, SPAN - 1), st.integers(0, 20), st.integers(0, 4)),
    max_size=30,
)


@given(OPERATIONS)
def test_agrees_with_a_list_of_bytes(operations: list[tuple[bool, int, int, int]]) -> None:
    values = [object() for _ in range(5)]
    painted: list[object | None] = [None] * (SPAN + 20)
    intervals: Intervals[object] = Intervals()
    for assigns, start, size, which in operations:
        end, value = start + size, values[which]
        if assigns:
            intervals.assign(start, end, value)
            painted[start:end] = [value] * size
        else:
            intervals.remove(start, end, value)
            painted[start:end] = [None if held is value else held for held in painted[start:end]]
        assert [intervals.at(address) for address in range(len(painted))] == painted
        covered = {id(held) for held in painted[start:end] if held is not None}
        assert {id(held) for held in intervals.overlapping(start, end)} == covered


def test_an_empty_interval_covers_nothing() -> None:
    intervals: Intervals[str] = Intervals()
    intervals.assign(5, 5, "nothing")
    assert intervals.at(5) is None
    assert len(intervals) == 0
