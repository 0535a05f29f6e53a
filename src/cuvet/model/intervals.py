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
        starts = self._starts
        if not starts:
            return None
        i = bisect_right(starts, address) - 1
        return self._values[i] if i >= 0 and address < self._ends[i] else None

    def bounds(self) -> tuple[int, int] | None:
        """Where the first interval begins and the last one ends; None if there is none."""
        return (self._starts[0], self._ends[-1]) if self._starts else None

    def ranges(self) -> list[tuple[int, int]]:
        """First address of each interval, and the one behind it."""
        return list(zip(self._starts, self._ends, strict=True))

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
        if low < high:
            self._replace(low, high, start, end, [(start, end, value)])
        else:
            self._starts.insert(low, start)
            self._ends.insert(low, end)
            self._values.insert(low, value)

    def remove(self, start: int, end: int, value: T) -> None:
        """Uncover what ``value`` covers of [start, end)."""
        low, high = self._span(start, end)
        for i in range(high - 1, low - 1, -1):
            if self._values[i] is not value:
                continue
            if start <= self._starts[i] and self._ends[i] <= end:
                del self._starts[i], self._ends[i], self._values[i]
            else:
                self._replace(i, i + 1, start, end, [])

    def _span(self, start: int, end: int) -> tuple[int, int]:
        """Indexes [low, high) of the intervals that overlap [start, end)."""
        low = bisect_right(self._starts, start)
        if start >= end:
            return low, low
        if low and self._ends[low - 1] > start:
            low -= 1
        return low, bisect_left(self._starts, end, low)

    def _replace(self, low: int, high: int, start: int, end: int, new: list[tuple[int, int, T]]) -> None:
        """Put ``new`` in place of what the intervals ``low`` to ``high`` cover of [start, end)."""
        if low < high and self._starts[low] < start:
            new = [(self._starts[low], start, self._values[low]), *new]
        if low < high and self._ends[high - 1] > end:
            new = [*new, (end, self._ends[high - 1], self._values[high - 1])]
        self._starts[low:high] = [first for first, _, _ in new]
        self._ends[low:high] = [last for _, last, _ in new]
        self._values[low:high] = [value for _, _, value in new]
