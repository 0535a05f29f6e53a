"""LTO-IR files, as ``nvcc -dlto -ltoir`` writes them. Only their header is read."""

import struct

from cuvet.image.entries import Entry
from cuvet.image.errors import ImageError
from cuvet.image.source import Source

MAGIC = 0x7F4E43ED
_ARCH = struct.Struct("<26xH")
"""Ten times the SM number stands at byte 26, as nvcc 13.0 writes it for lto_75 to lto_120a; a suffix does not stand there."""


def entry(source: Source, path: str) -> Entry:
    head = source.read(0, _ARCH.size)
    if len(head) < _ARCH.size:
        raise ImageError("truncated: LTO-IR that ends within its header")
    arch = f"sm_{_ARCH.unpack(head)[0] // 10}"
    return Entry("ltoir", arch, source.size, source.size, container=path, source=source)
