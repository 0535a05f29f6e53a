"""Fatbins: containers of cubins, PTX texts and LTO-IR for several architectures, compressed or not.

A container is a header of 16 bytes, then entries, each a header and its code. The layout is that of what nvcc and fatbinary
11.8 to 13.0 write, which cuobjdump lists alike; ``fatbinary_section.h`` of the toolkit has the wrapper and the names of sections.
"""

import struct
from collections.abc import Iterator

from cuvet.image.entries import Compression, Entry, Kind
from cuvet.image.errors import ImageError
from cuvet.image.source import Source, of_bytes

MAGIC = 0xBA55ED50
WRAPPER_MAGIC = 0x466243B1
"""Of the struct that programs point to: u32 magic, u32 version, u64 address of the container, u64."""
WRAPPER_BYTES = 24
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_KINDS: dict[int, Kind] = {1: "ptx", 2: "cubin", 8: "ltoir", 16: "cubin"}
_64_BIT, _LZ4, _ZSTD = 0x1, 0x2000, 0x8000
_ARCH_SPECIFIC, _FAMILY_SPECIFIC = 0x100000, 0x200000
_CHUNK = 1 << 16


def container_bytes(header: bytes) -> int:
    """Bytes of the container whose first 16 bytes these are. ImageError if this is none."""
    if len(header) < _CONTAINER.size:
        raise ImageError("not a fatbin")
    magic, _, header_bytes, size = _CONTAINER.unpack_from(header)
    if magic != MAGIC:
        raise ImageError("not a fatbin")
    return int(header_bytes + size)


def entries(data: bytes | Source, container: str = "", base: int = 0) -> Iterator[Entry]:
    """The entries of the fatbin at the start of ``data``, which is at ``base`` of the file. Kinds that are not known are left
    out. ImageError at the first entry that does not fit."""
    source = of_bytes(data) if isinstance(data, bytes) else data
    header = source.read(0, _CONTAINER.size)
    end = container_bytes(header)
    position = _CONTAINER.unpack(header)[2]
    while position + _ENTRY.size <= end:
        fields = source.read(position, _ENTRY.size)
        if len(fields) < _ENTRY.size:
            raise ImageError(f"truncated: {source.size} bytes of {end}")
        kind, _, header_bytes, size, packed, _, minor, major, sm, _, _, flags, _, plain = _ENTRY.unpack(fields)
        start = position + header_bytes
        if header_bytes < _ENTRY.size:
            raise ImageError(f"an entry's header of {header_bytes} bytes")
        if start + size > source.size:
            raise ImageError(f"truncated: an entry ends at {start + size}, the fatbin at {source.size}")
        if kind in _KINDS:
            stored = packed if 0 < packed <= size else size
            compression = _compression(flags)
            yield Entry(
                kind=_KINDS[kind],
                arch=f"sm_{sm}{_suffix(flags)}",
                size_bytes=stored,
                decompressed_bytes=plain if compression else stored,
                compression=compression,
                ptx_version=f"{major}.{minor}" if kind == 1 else None,
                address_bits=64 if flags & _64_BIT else 32,
                container=container,
                offset=base + start,
                fatbin=base,
                source=source.part(start, stored),
            )
        position = start + size


def _compression(flags: int) -> Compression | None:
    return "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else None


def _suffix(flags: int) -> str:
    return "a" if flags & _ARCH_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""


def containers(section: Source) -> Iterator[tuple[int, Source]]:
    """(offset, bytes) of each fatbin of a section, where linkers have put one after another. One that claims more than there is
    is cut, and the next one may begin anywhere in it."""
    position = _next(section, 0)
    while position is not None:
        whole = container_bytes(section.read(position, _CONTAINER.size).ljust(_CONTAINER.size, b"\0"))
        yield position, section.part(position, whole)
        fits = _CONTAINER.size <= whole <= section.size - position
        position = _next(section, position + (whole if fits else _CONTAINER.size))


def _next(section: Source, position: int) -> int | None:
    """Where the next fatbin begins, from ``position`` on; they are aligned to 8 bytes. None if there is none."""
    wanted = MAGIC.to_bytes(4, "little")
    position = -(-position // 8) * 8
    if section.read(position, 4) == wanted:
        return position
    while chunk := section.read(position, _CHUNK):
        found = chunk.find(wanted)
        while found >= 0 and found % 8:
            found = chunk.find(wanted, found + 1)
        if found >= 0:
            return position + found
        position += _CHUNK
    return None
