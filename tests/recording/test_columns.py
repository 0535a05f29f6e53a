"""Columns and structures: the same as what numpy's plain operations give."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cuvet.recording.columns import among, distinct, joined, wholes
from cuvet.recording.repeats import ROW

NUMBERS = st.lists(st.integers(0, 5) | st.integers(0, (1 << 64) - 1), max_size=30).map(
    lambda each: np.array(each, "<u8")
)


@given(NUMBERS)
def test_distinct_values_are_in_order(values: np.ndarray) -> None:
    before = values.copy()
    assert distinct(values).tolist() == sorted(set(values.tolist()))
    assert distinct(values[::-1]).tolist() == sorted(set(values.tolist()))
    assert values.tolist() == before.tolist()


@given(NUMBERS, NUMBERS)
def test_values_are_among_others(values: np.ndarray, others: np.ndarray) -> None:
    assert among(values, others).tolist() == np.isin(values, others).tolist()


@given(st.lists(NUMBERS, min_size=1, max_size=4))
def test_structures_are_joined(columns: list[np.ndarray]) -> None:
    parts = [np.zeros(len(column), ROW) for column in columns]
    for part, column in zip(parts, columns, strict=True):
        part["instant"], part["calm"] = column, column % 2 == 1
    assert joined(parts).tolist() == np.concatenate(parts).tolist()
    assert (
        joined([part[::2] for part in parts])["instant"].tolist()
        == np.concatenate([column[::2] for column in columns]).tolist()
    )


def test_a_structure_without_fields_is_the_same_memory() -> None:
    rows = np.zeros(3, ROW)
    rows["number"] = (1, 2, 3)
    wholes(rows)[[0, 2]] = wholes(rows).take([2, 1])
    assert rows["number"].tolist() == [3, 2, 2]
