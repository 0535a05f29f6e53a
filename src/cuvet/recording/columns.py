"""What numpy can do with columns and structures much faster than its plain operations do. Of structures (dtypes with fields) it copies
each element field by field where they are indexed, copied or concatenated; ``take`` copies whole elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_KEPT_BYTES = 9 << 20
"""More than any of the arrays has that are made of chunks read at a time."""


@cache
def keep_freed_memory() -> None:
    """Arrays are made in memory that others gave back. Without this, glibc takes the memory of each one of 128 KiB and more from the system
    and returns it, a page fault for every 4 KiB; it stops that up to the size of the largest that was given back (mallopt(3))."""
    np.empty(_KEPT_BYTES, np.uint8)


def joined(parts: Sequence[Array]) -> Array:
    """One array of one or more arrays of structures of the same type."""
    if len(parts) == 1:
        return parts[0]
    found: Array = np.concatenate([wholes(part) for part in parts]).view(parts[0].dtype)
    return found


def wholes(rows: Array) -> Array:
    """The same structures as elements without fields."""
    view: Array = rows.view(np.dtype((np.void, rows.dtype.itemsize)))
    return view


def distinct(values: Array) -> Array:
    """In ascending order. ``np.unique`` takes much longer."""
    runs = values[_changes(values)]
    runs.sort()
    return runs[_changes(runs)]


def _changes(values: Array) -> Array:
    """Whether each value is another than the one before."""
    changes = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def among(values: Array, others: Array) -> Array:
    """Whether each value is one of the others."""
    if not len(others):
        return np.zeros(len(values), bool)
    ordered = np.sort(others)
    found: Array = ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values
    return found


def at_every_word(words: Array, size: int) -> Array:
    """The ``size`` bytes from each word on, as one element: numpy copies these faster than structures, and than rows of words."""
    view: Array = np.ndarray((max(len(words) - size // 8 + 1, 0),), np.dtype(f"V{size}"), words, strides=(8,))
    return view
