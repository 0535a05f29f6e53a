"""Memory by address: what lives there, and what was there last."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from cuvet.model.intervals import Intervals
from cuvet.model.objects import Allocation, HostMemory

M = TypeVar("M", Allocation, HostMemory)

REMEMBERED = 100_000
"""How many dead ranges are remembered; older ones are forgotten."""


class MemoryTable(Generic[M]):
    """Live and dead ranges of one kind of memory."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._live: Intervals[M] = Intervals()
        self._dead: Intervals[M] = Intervals()
        self._history: deque[M] = deque()
        self._remembered = remembered

    def add(self, memory: M) -> None:
        self._live.assign(memory.handle, memory.end, memory)

    def end(self, memory: M) -> M | None:
        """``memory`` is not alive any more. The dead range that had to be forgotten for it, if any."""
        self._live.remove(memory.handle, memory.end, memory)
        self._dead.assign(memory.handle, memory.end, memory)
        self._history.append(memory)
        if len(self._history) <= self._remembered:
            return None
        oldest = self._history.popleft()
        self._dead.remove(oldest.handle, oldest.end, oldest)
        return oldest

    def at(self, address: int) -> M | None:
        """The live range that holds ``address``, else the one that ended last; None if there was none."""
        return self._live.at(address) or self._dead.at(address)

    def live_overlapping(self, address: int, size: int) -> list[M]:
        """Live ranges that share a byte with [address, address + size)."""
        return self._live.overlapping(address, address + max(size, 1))
