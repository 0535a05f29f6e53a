"""Where allocations lie: blocks of ranges that the shim reserved in the client's address space."""

from bisect import insort
from dataclasses import dataclass, field

from cuvet.device.protocol import Access, Command, Op, Steps

ALIGNMENT = 512
"""Of device allocations, in bytes: two small ones are never closer."""
RANGE_BYTES = 2 << 20
"""Small blocks share ranges of this size; a larger block has its own."""


@dataclass(slots=True)
class _Range:
    """A reserved range. ``free`` lists its unused blocks (offset, bytes), by offset, never adjacent."""

    start: int
    size: int
    free: list[tuple[int, int]] = field(default_factory=list)

    def take(self, size: int) -> int | None:
        for position, (offset, available) in enumerate(self.free):
            if available >= size:
                self.free[position : position + 1] = [(offset + size, available - size)] if available > size else []
                return self.start + offset
        return None

    def give(self, address: int, size: int) -> None:
        insort(self.free, (address - self.start, size))
        merged: list[tuple[int, int]] = []
        for offset, length in self.free:
            if merged and merged[-1][0] + merged[-1][1] == offset:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((offset, length))
        self.free = merged


class Arena:
    """Blocks of one kind of memory: for the device only, or that the host may touch as well. A block freed is given out again
    first, as the driver does."""

    def __init__(self, host: bool) -> None:
        self._host = host
        self._shared: list[_Range] = []
        self._blocks: dict[int, int] = {}

    def allocate(self, size: int, fixed: int = 0) -> Steps[int]:
        """Address of ``size`` zeroed or used bytes; 0 if the client has no room. ``fixed``: the address wanted, not shared."""
        rounded = -(-size // ALIGNMENT) * ALIGNMENT
        address = 0
        if rounded >= RANGE_BYTES or fixed:
            address = yield from self._reserve(rounded, fixed)
        else:
            address = next((found for shared in self._shared if (found := shared.take(rounded))), 0)
            if not address:
                start = yield from self._reserve(RANGE_BYTES)
                if start:
                    self._shared.insert(0, _Range(start, RANGE_BYTES, [(0, RANGE_BYTES)]))
                    address = self._shared[0].take(rounded) or 0
        if address:
            self._blocks[address] = rounded
        return address

    def _reserve(self, size: int, fixed: int = 0) -> Steps[int]:
        answer = yield Command(Op.RESERVE, (fixed, size, Access.HOST if self._host else Access.DEVICE))
        return 0 if answer.error else answer.word

    def occupied(self, start: int, size: int, except_for: set[int]) -> bool:
        """Whether a block other than those lies in the range, be it partly."""
        blocks = self._blocks.items()
        return any(at < start + size and start < at + length and at not in except_for for at, length in blocks)

    def free(self, address: int) -> Steps[bool]:
        """False if there is no block at that address."""
        size = self._blocks.pop(address, None)
        if size is None:
            return False
        shared = next((found for found in self._shared if found.start <= address < found.start + found.size), None)
        if shared:
            shared.give(address, size)
        else:
            yield Command(Op.RELEASE, (address, size))
        return True
