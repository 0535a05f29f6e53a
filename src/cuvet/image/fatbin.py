"""Fatbins: containers of cubins and PTX texts for several architectures, compressed or not."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cuvet.image.errors import ImageError

MAGIC = 0xBA55ED50
WRAPPER_MAGIC = 0x466243B1
"""Of the struct that programs point to: u32 magic, u32 version, u64 address of the container, u64."""
WRAPPER_BYTES = 24
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_PTX, _CUBIN = 1, 2
_LZ4, _ZSTD = 0x2000, 0x8000
_MOST_DECOMPRESSED = 1 << 30


@dataclass(frozen=True, slots=True)
class Entry:
    """``kind`` is ``ptx`` or ``cubin``; ``arch`` 90 for sm_90; ``payload`` as it stands in the container."""

    kind: str
    arch: int
    payload: bytes
    flags: int
    compressed_bytes: int
    decompressed_bytes: int

    @property
    def compressed(self) -> bool:
        return bool(self.flags & (_LZ4 | _ZSTD))

    def data(self) -> bytes:
        """The cubin or the PTX text. ImageError if it cannot be decompressed."""
        if not self.compressed:
            return self.payload
        packed = self.payload[: self.compressed_bytes] if self.compressed_bytes else self.payload
        if self.decompressed_bytes > _MOST_DECOMPRESSED:
            raise ImageError(f"an entry of {self.decompressed_bytes} bytes is too large")
        return (
            _unzstd(packed, self.decompressed_bytes) if self.flags & _ZSTD else _unlz4(packed, self.decompressed_bytes)
        )


def _unlz4(packed: bytes, size: int) -> bytes:
    import lz4.block

    try:
        return bytes(lz4.block.decompress(packed, uncompressed_size=size))
    except lz4.block.LZ4BlockError as error:
        raise ImageError(f"the compressed code is broken: {error}") from error


def _unzstd(packed: bytes, size: int) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
    except zstandard.ZstdError as error:
        raise ImageError(f"the compressed code is broken: {error}") from error


def container_bytes(header: bytes) -> int:
    """Bytes of the container whose first 16 bytes these are. ImageError if this is none."""
    if len(header) < _CONTAINER.size:
        raise ImageError("not a fatbin")
    magic, _, header_bytes, size = _CONTAINER.unpack_from(header)
    if magic != MAGIC:
        raise ImageError("not a fatbin")
    return int(header_bytes + size)


def entries(data: bytes) -> Iterator[Entry]:
    """ImageError at the first entry that does not fit."""
    end = container_bytes(data)
    position = _CONTAINER.unpack_from(data)[2]
    while position + _ENTRY.size <= end:
        if position + _ENTRY.size > len(data):
            raise ImageError(f"truncated: {len(data)} bytes of {end}")
        kind, _, header_bytes, size, packed, _, _, _, arch, _, _, flags, _, plain = _ENTRY.unpack_from(data, position)
        start = position + header_bytes
        if header_bytes < _ENTRY.size or start + size > len(data):
            raise ImageError(f"truncated: an entry ends at {start + size}, the fatbin at {len(data)}")
        if kind in (_PTX, _CUBIN):
            yield Entry("ptx" if kind == _PTX else "cubin", arch, data[start : start + size], flags, packed, plain)
        position = start + size
