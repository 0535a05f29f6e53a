"""Sections and symbols of a 64-bit little-endian ELF file. Every length is checked: bytes from anywhere may be given."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from cuvet.image.errors import ImageError

MAGIC = b"\x7fELF"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE, _NO_BITS = 2, 8


@dataclass(frozen=True, slots=True)
class Section:
    """``data`` is empty for sections that take no room in the file."""

    name: str
    type: int
    link: int
    data: bytes


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
    machine: int
    abi_version: int
    flags: int
    sections: tuple[Section, ...]

    def symbols(self) -> tuple[Symbol, ...]:
        """Entries of the symbol table, in order; relocations and notes count them from 0. ImageError if one is broken."""
        table = next((section for section in self.sections if section.type == _SYMBOL_TABLE), None)
        if table is None:
            return ()
        if table.link >= len(self.sections):
            raise ImageError("the symbol table has no names")
        names = self.sections[table.link].data
        return tuple(
            Symbol(_text(names, name), info & 15, other, section, value, size)
            for name, info, other, section, value, size in _SYMBOL.iter_unpack(table.data[: len(table.data) // 24 * 24])
        )


def size_of(header: bytes) -> int:
    """Bytes of the file whose first 64 bytes these are, if its section headers come last, as they do in cubins. ImageError if
    this is no ELF file."""
    if len(header) < _HEADER.size or not header.startswith(MAGIC):
        raise ImageError("not an ELF file")
    fields = _HEADER.unpack_from(header)
    program_end = fields[5] + fields[9] * fields[10] if fields[10] else 0
    return int(max(fields[6] + fields[11] * fields[12], program_end, _HEADER.size))


def parse(data: bytes) -> Elf:
    """ImageError if it is no whole ELF file."""
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise ImageError("not an ELF file")
    ident, _, machine, _, _, _, offset, flags, _, _, _, entry_size, count, names_index = _HEADER.unpack_from(data)
    if ident[4] != 2 or ident[5] != 1:
        raise ImageError("not a 64-bit little-endian ELF file")
    if not count or entry_size != _SECTION.size:
        raise ImageError("the ELF file has no sections")
    if size_of(data) > len(data):
        raise ImageError(f"truncated: {len(data)} bytes of {size_of(data)}")
    rows = [_SECTION.unpack_from(data, offset + number * entry_size) for number in range(count)]
    if names_index >= count:
        raise ImageError("the ELF file's sections have no names")
    names = _contents(data, rows[names_index])
    sections = tuple(Section(_text(names, row[0]), row[1], row[6], _contents(data, row)) for row in rows)
    return Elf(machine, ident[8], flags, sections)


def _contents(data: bytes, row: tuple[int, ...]) -> bytes:
    if row[1] == _NO_BITS:
        return b""
    if row[4] + row[5] > len(data):
        raise ImageError(f"truncated: a section ends at {row[4] + row[5]}, the file at {len(data)}")
    return data[row[4] : row[4] + row[5]]


def _text(names: bytes, start: int) -> str:
    end = names.find(b"\0", start)
    return names[start : end if end >= 0 else len(names)].decode("utf-8", "replace") if start < len(names) else ""
