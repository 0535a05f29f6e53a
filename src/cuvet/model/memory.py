"""Memory by address: what lives there, and what was there last."""

from collections import OrderedDict
from typing import Generic, TypeVar

from cuvet.model.intervals import Intervals
from cuvet.model.objects import Allocation, HostMemory
from cuvet.model.table import REMEMBERED

M = TypeVar("M", Allocation, HostMemory)


class MemoryTable(Generic[M]):
    """Live and dead ranges of one kind of memory."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._live: Intervals[M] = Intervals()
        self._dead: Intervals[M] = Intervals()
        self._history: OrderedDict[M, None] = OrderedDict()
        """The dead of which something can still be found, oldest first."""
        self._remembered = remembered

    def add(self, memory: M) -> None:
        self._live.assign(memory.handle, memory.end, memory)

    def end(self, memory: M) -> None:
        """``memory`` is not alive any more. Of more dead ranges than are remembered the oldest is forgotten."""
        self._live.remove(memory.handle, memory.end, memory)
        before = self._dead.at(memory.handle)
        if before is not None and before.handle == memory.handle and before.end <= memory.end:
            self._history.pop(before, None)
        self._dead.assign(memory.handle, memory.end, memory)
        self._history[memory] = None
        if len(self._history) > self._remembered:
            oldest, _ = self._history.popitem(last=False)
            self._dead.remove(oldest.handle, oldest.end, oldest)

    def at(self, address: int) -> M | None:
        """The live range that holds ``address``, else the one that ended last; None if there was none."""
        return self._live.at(address) or self._dead.at(address)

    def living_at(self, address: int) -> M | None:
        """The live range that holds ``address``."""
        return self._live.at(address)

    def bounds(self) -> tuple[int, int] | None:
        """Where the first live range begins and the last one ends; None if there is none."""
        return self._live.bounds()

    def ranges(self) -> list[tuple[int, int]]:
        """Where the live ranges begin and end."""
        return self._live.ranges()

    def live_overlapping(self, address: int, size: int) -> list[M]:
        """Live ranges that share a byte with [address, address + size)."""
        return self._live.overlapping(address, address + max(size, 1))
