"""Sections and symbols of a 64-bit little-endian ELF file. Every length is checked: bytes from anywhere may be given."""

import struct
from dataclasses import dataclass

from cuvet.image.errors import ImageError
from cuvet.image.source import Source, of_bytes

MAGIC = b"\x7fELF"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE, _NO_BITS = 2, 8
_LOADED = 1
"""PT_LOAD."""
_CUDA = 190
_CUDA_NO_BITS = (0x70000007, 0x7000000A)
"""Types of sections of object files for GPUs that take no room in the file, as libnccl and bitsandbytes have them: .nv.global and
.nv_debug.shared. Linked cubins have type 8 in their place."""
_COMPRESSED = 0x800
_MOST_SECTIONS = 1 << 20
_MOST_OVERLAP = 16
_MOST_BYTES = 1 << 27
"""Of a table that is read whole: a file may name more, and hold nothing but holes."""
_NAMES_ELSEWHERE = 0xFFFF
"""SHN_XINDEX: the number does not fit, the first section's header has it."""


@dataclass(frozen=True, slots=True)
class Section:
    """``contents`` is empty for sections that take no room in the file; ``offset`` is where they are in it. ``size``: bytes in memory,
    ``address``: where they begin there, without the load bias."""

    name: str
    type: int
    flags: int
    link: int
    offset: int
    size: int
    contents: Source
    address: int = 0

    @property
    def data(self) -> bytes:
        """ImageError if there is too much to be read at once."""
        return whole(self.contents)

    @property
    def unpacked_size(self) -> int:
        """Bytes of the contents when they are decompressed, as they say themselves."""
        if self.name.startswith(".zdebug_"):
            return int.from_bytes(self.contents.read(4, 8), "big")
        if self.flags & _COMPRESSED:
            return int.from_bytes(self.contents.read(8, 8), "little")
        return self.contents.size


@dataclass(frozen=True, slots=True)
class Symbol:
    """``type`` is STT_FUNC (2), STT_OBJECT (1) …; ``other`` the visibility byte, in which CUDA marks kernels."""

    name: str
    type: int
    other: int
    section: int
    value: int
    size: int


@dataclass(frozen=True, slots=True)
class Elf:
    """``type`` is ET_REL (1), ET_EXEC (2), ET_DYN (3) …. ``version`` is 1, in cubins up to ABI version 7 that of the toolkit. ``start`` is
    the address of the first segment that is loaded, without the load bias: not 0 in programs that are linked for a place (-no-pie)."""

    type: int
    machine: int
    abi_version: int
    flags: int
    sections: tuple[Section, ...]
    version: int = 1
    start: int = 0

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    def symbols(self) -> tuple[Symbol, ...]:
        """Entries of the symbol table, in order; relocations and notes count them from 0. ImageError if one is broken."""
        table = next((section for section in self.sections if section.type == _SYMBOL_TABLE), None)
        if table is None:
            return ()
        if table.link >= len(self.sections):
            raise ImageError("the symbol table has no names")
        contents = table.data
        rows = list(_SYMBOL.iter_unpack(contents[: len(contents) // _SYMBOL.size * _SYMBOL.size]))
        names = texts(self.sections[table.link].contents, [row[0] for row in rows])
        return tuple(
            Symbol(name, info & 15, other, section, value, size)
            for name, (_, info, other, section, value, size) in zip(names, rows, strict=True)
        )


def size_of(header: bytes) -> int:
    """Bytes of the file whose first 64 bytes these are, if its section headers come last, as they do in cubins. ImageError if
    this is no ELF file."""
    if len(header) < _HEADER.size or not header.startswith(MAGIC):
        raise ImageError("not an ELF file")
    fields = _HEADER.unpack_from(header)
    program_end = fields[5] + fields[9] * fields[10] if fields[10] else 0
    return int(max(fields[6] + fields[11] * fields[12], program_end, _HEADER.size))


def parse(file: bytes | Source) -> Elf:
    """ImageError if it is no whole ELF file. Reads the headers only."""
    source = of_bytes(file) if isinstance(file, bytes) else file
    header = source.read(0, _HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(MAGIC):
        raise ImageError("not an ELF file")
    ident, kind, machine, version, _, _, offset, flags, _, _, _, entry_size, count, names_index = _HEADER.unpack(header)
    if ident[4] != 2 or ident[5] != 1:
        raise ImageError("not a 64-bit little-endian ELF file")
    if not offset or entry_size != _SECTION.size:
        raise ImageError("the ELF file has no sections")
    if size_of(header) > source.size:
        raise ImageError(f"truncated: {source.size} bytes of {size_of(header)}")
    rows = _rows(source, offset, count)
    if names_index == _NAMES_ELSEWHERE:
        names_index = rows[0][6]
    if names_index >= len(rows):
        raise ImageError("the ELF file's sections have no names")
    empty = (0, _NO_BITS, *(_CUDA_NO_BITS if machine == _CUDA else ()))
    names = texts(_contents(source, rows[names_index], empty), [row[0] for row in rows])
    sections = tuple(
        Section(name, row[1], row[2], row[6], row[4], row[5], _contents(source, row, empty), row[3])
        for name, row in zip(names, rows, strict=True)
    )
    return Elf(kind, machine, ident[8], flags, sections, version, _start(source, header))


def _start(source: Source, header: bytes) -> int:
    fields = _HEADER.unpack(header)
    offset, size, count = fields[5], fields[9], fields[10]
    table = source.read(offset, size * count) if size == _SEGMENT.size else b""
    rows = _SEGMENT.iter_unpack(table[: len(table) // _SEGMENT.size * _SEGMENT.size])
    return next((int(row[3]) for row in rows if row[0] == _LOADED), 0)


def _rows(source: Source, offset: int, count: int) -> list[tuple[int, ...]]:
    """The section headers. A count of 0 says that it does not fit, and stands in the first header."""
    if not count:
        first = source.read(offset, _SECTION.size)
        count = _SECTION.unpack(first)[5] if len(first) == _SECTION.size else 0
    if not 0 < count <= _MOST_SECTIONS:
        raise ImageError(f"the ELF file has {count} sections" if count else "the ELF file has no sections")
    table = source.read(offset, count * _SECTION.size)
    if len(table) < count * _SECTION.size:
        raise ImageError(f"truncated: {source.size} bytes of {offset + count * _SECTION.size}")
    return list(_SECTION.iter_unpack(table))


def _contents(source: Source, row: tuple[int, ...], empty: tuple[int, ...]) -> Source:
    """``empty``: types of sections that take no room in the file."""
    if row[1] in empty:
        return source.part(0, 0)
    if row[4] + row[5] > source.size:
        raise ImageError(f"truncated: a section ends at {row[4] + row[5]}, the file at {source.size}")
    return source.part(row[4], row[5])


def whole(source: Source) -> bytes:
    """All bytes. ImageError if they are too many."""
    if source.size > _MOST_BYTES:
        raise ImageError(f"a table of {source.size:,} bytes")
    return source.read(0, source.size)


def texts(strings: Source, starts: list[int]) -> list[str]:
    """The string at each of these places. ImageError if they overlap so that together they are many times the table."""
    table = whole(strings)
    found, room = [], _MOST_OVERLAP * (len(table) + 1)
    for start in starts:
        end = table.find(b"\0", start) if start < len(table) else start
        found.append(table[start : end if end >= 0 else len(table)])
        room -= len(found[-1])
        if room < 0:
            raise ImageError("the ELF file's names overlap")
    return [name.decode("utf-8", "replace") for name in found]
