"""Bytes that are read where they are needed: a file, a part of one, or memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cuvet.regular import open_regular

Read = Callable[[int, int], bytes]
"""(size, offset) to the bytes there; fewer where the bytes end."""


@dataclass(frozen=True, slots=True)
class Source:
    """``size`` bytes from ``start`` of what ``reader`` reads. Reading past the end gives fewer bytes, never others."""

    reader: Read
    size: int
    start: int = 0

    def read(self, offset: int, size: int) -> bytes:
        room = self.size - offset
        return self.reader(min(size, room), self.start + offset) if offset >= 0 and room > 0 and size > 0 else b""

    def part(self, offset: int, size: int) -> Source:
        """``size`` bytes from ``offset``, as far as there are so many."""
        offset = min(max(offset, 0), self.size)
        return replace(self, start=self.start + offset, size=max(min(size, self.size - offset), 0))


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """The regular file, read with pread and not mapped: a file that is cut meanwhile gives short reads instead of SIGBUS.
    OSError if it cannot be opened. Reading after the block raises ValueError."""
    with open(open_regular(path), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        yield Source(lambda size, offset: os.pread(file.fileno(), size, offset), size)


def of_bytes(data: bytes) -> Source:
    return Source(lambda size, offset: data[offset : offset + size], len(data))
