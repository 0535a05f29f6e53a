"""Which value covers an address: disjoint half-open intervals, the newest assignment on top."""

from bisect import bisect_left, bisect_right
from typing import Generic, TypeVar

T = TypeVar("T")


class Intervals(Generic[T]):
    """A map from addresses to values. ``assign`` covers what was there; values are compared by identity."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._values: list[T] = []

    def __len__(self) -> int:
        return len(self._starts)

    def at(self, address: int) -> T | None:
        """The value that covers ``address``; None if none does."""
        i = bisect_right(self._starts, address) - 1
        if i >= 0 and address < self._ends[i]:
            return self._values[i]
        return None

    def overlapping(self, start: int, end: int) -> list[T]:
        """The values that cover any part of [start, end), in order of address, each once in a row."""
        low, high = self._span(start, end)
        found: list[T] = []
        for value in self._values[low:high]:
            if not found or found[-1] is not value:
                found.append(value)
        return found

    def assign(self, start: int, end: int, value: T) -> None:
        """Cover [start, end) with ``value``."""
        if start >= end:
            return
        low, high = self._span(start, end)
        starts, ends, values = [start], [end], [value]
        if low < high:
            if self._starts[low] < start:
                starts.insert(0, self._starts[low])
                ends.insert(0, start)
                values.insert(0, self._values[low])
            if self._ends[high - 1] > end:
                starts.append(end)
                ends.append(self._ends[high - 1])
                values.append(self._values[high - 1])
        self._replace(low, high, starts, ends, values)

    def remove(self, start: int, end: int, value: T) -> None:
        """Uncover what ``value`` covers of [start, end)."""
        low, high = self._span(start, end)
        for i in range(high - 1, low - 1, -1):
            if self._values[i] is not value:
                continue
            starts, ends = [], []
            if self._starts[i] < start:
                starts.append(self._starts[i])
                ends.append(start)
            if self._ends[i] > end:
                starts.append(end)
                ends.append(self._ends[i])
            self._replace(i, i + 1, starts, ends, [value] * len(starts))

    def _span(self, start: int, end: int) -> tuple[int, int]:
        """Indexes [low, high) of the intervals that overlap [start, end)."""
        low = bisect_right(self._starts, start)
        if start >= end:
            return low, low
        if low and self._ends[low - 1] > start:
            low -= 1
        return low, max(low, bisect_left(self._starts, end))

    def _replace(self, low: int, high: int, starts: list[int], ends: list[int], values: list[T]) -> None:
        self._starts[low:high] = starts
        self._ends[low:high] = ends
        self._values[low:high] = values
