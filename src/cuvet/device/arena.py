"""Where allocations lie: blocks of ranges that the shim reserved in the client's address space."""

from bisect import bisect, insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from cuvet.device.protocol import Access, Command, Op, Steps
from cuvet.model.table import REMEMBERED

ALIGNMENT = 512
"""Of device allocations, in bytes: two small ones are never closer."""
RANGE_BYTES = 2 << 20
"""Small blocks share ranges of this size; a larger block has its own."""


@dataclass(slots=True)
class _Freed:
    """Blocks (address, bytes) that were freed and are not given out again as long as they are few enough, oldest first."""

    most: int
    most_bytes: int
    blocks: deque[tuple[int, int]] = field(default_factory=deque)
    bytes: int = 0

    def add(self, address: int, size: int) -> None:
        self.blocks.append((address, size))
        self.bytes += size

    def surplus(self, everything: bool = False) -> Iterator[tuple[int, int]]:
        """Take out the oldest blocks that are too many; all if ``everything``."""
        while self.blocks and (everything or len(self.blocks) > self.most or self.bytes > self.most_bytes):
            address, size = self.blocks.popleft()
            self.bytes -= size
            yield address, size


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
        offset = address - self.start
        first = last = bisect(self.free, (offset, size))
        if last < len(self.free) and self.free[last][0] == offset + size:
            size += self.free[last][1]
            last += 1
        if first and sum(self.free[first - 1]) == offset:
            first -= 1
            size += self.free[first][1]
            offset = self.free[first][0]
        self.free[first:last] = [(offset, size)]


class Arena:
    """Blocks of one kind of memory: for the device only, or that the host may touch as well. The driver gives the address of freed
    memory to the next allocation; here others come first, so that a use of the freed memory is seen. Small blocks keep their pages
    meanwhile, large ones their addresses alone."""

    def __init__(self, host: bool) -> None:
        self._host = host
        self._shared: list[_Range] = []
        self._starts: list[int] = []
        self._by_start: dict[int, _Range] = {}
        self._blocks: dict[int, int] = {}
        self._freed = _Freed(REMEMBERED, 64 << 20)
        self._freed_ranges = _Freed(1024, 1 << 40)

    def allocate(self, size: int, fixed: int = 0) -> Steps[int]:
        """Address of ``size`` zeroed or used bytes; 0 if the client has no room. ``fixed``: the address wanted, not shared."""
        rounded = -(-size // ALIGNMENT) * ALIGNMENT
        address = yield from self._find(rounded, fixed)
        if not address:
            yield from self._give_back(everything=True)
            address = yield from self._find(rounded, fixed)
        if address:
            self._blocks[address] = rounded
        return address

    def _find(self, rounded: int, fixed: int) -> Steps[int]:
        if rounded >= RANGE_BYTES or fixed:
            return (yield from self._reserve(rounded, fixed))
        address = next((found for shared in self._shared if (found := shared.take(rounded))), 0)
        if not address:
            start = yield from self._reserve(RANGE_BYTES)
            if start:
                self._shared.insert(0, _Range(start, RANGE_BYTES, [(0, RANGE_BYTES)]))
                self._by_start[start] = self._shared[0]
                insort(self._starts, start)
                address = self._shared[0].take(rounded) or 0
        return address

    def _reserve(self, size: int, fixed: int = 0) -> Steps[int]:
        answer = yield Command(Op.RESERVE, (fixed, size, Access.HOST if self._host else Access.DEVICE))
        return 0 if answer.error else answer.word

    def occupied(self, start: int, size: int, except_for: set[int]) -> bool:
        """Whether a block other than those lies in the range, be it partly."""
        blocks = self._blocks.items()
        return any(at < start + size and start < at + length and at not in except_for for at, length in blocks)

    def has(self, address: int) -> bool:
        """Whether a block begins there that was not freed."""
        return address in self._blocks

    def keeps(self, address: int, size: int) -> bool:
        """Whether the bytes stay with this process: they are of a range of small blocks, which are not given back."""
        return self._range_of(address, size) is not None

    def free(self, address: int) -> Steps[bool]:
        """False if there is no block at that address."""
        size = self._blocks.pop(address, None)
        if size is None:
            return False
        if self._range_of(address):
            self._freed.add(address, size)
        else:
            yield Command(Op.RELEASE, (address, size, 1))
            self._freed_ranges.add(address, size)
        yield from self._give_back()
        return True

    def _give_back(self, everything: bool = False) -> Steps[None]:
        """Freed blocks that are too many may be given out again."""
        for address, size in self._freed.surplus(everything):
            shared = self._range_of(address)
            if shared:
                shared.give(address, size)
        for address, size in self._freed_ranges.surplus(everything):
            yield Command(Op.RELEASE, (address, size))

    def _range_of(self, address: int, size: int = 1) -> _Range | None:
        """The range of small blocks that has these bytes."""
        before = bisect(self._starts, address)
        found = self._by_start[self._starts[before - 1]] if before else None
        return found if found and address + size <= found.start + found.size else None
