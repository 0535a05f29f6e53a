"""Where many accesses of a memory are: what touches none of them is told at once, without a look at each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvet.model.touches import Touch

_MOST_BLOCKS = 64
"""More are not looked up: then anything may be there."""


class Places:
    """The byte ranges, by the power of two that they fit in: each is in one or two blocks of that size."""

    def __init__(self, touches: Iterable[Touch]) -> None:
        self._blocks: Counter[tuple[int, int, bool]] = Counter()
        """How many accesses are in it, by level, number, and whether they only read."""
        self._levels: Counter[int] = Counter()
        self._anywhere = 0
        """Accesses of unknown extent, and of arrays."""
        for touch in touches:
            self.add(touch)

    def add(self, touch: Touch) -> None:
        self._count(touch, 1)

    def remove(self, touch: Touch) -> None:
        self._count(touch, -1)

    def may_collide(self, touch: Touch) -> bool:
        """False if none of the accesses touches a byte that ``touch`` does and one of the two writes."""
        if self._anywhere or touch.end is None or touch.end <= touch.start:
            return True
        kinds = (False,) if touch.writes is False else (False, True)
        for level, count in self._levels.items():
            first, last = touch.start >> level, (touch.end - 1) >> level
            if count and last - first >= _MOST_BLOCKS:
                return True
            if count and any((level, at, reads) in self._blocks for at in range(first, last + 1) for reads in kinds):
                return True
        return False

    def _count(self, touch: Touch, by: int) -> None:
        if touch.end is None or touch.end <= touch.start or touch.box is not None:
            self._anywhere += by
            return
        level = (touch.end - touch.start - 1).bit_length()
        self._levels[level] += by
        for at in range(touch.start >> level, ((touch.end - 1) >> level) + 1):
            block = (level, at, touch.writes is False)
            self._blocks[block] += by
            if not self._blocks[block]:
                del self._blocks[block]
