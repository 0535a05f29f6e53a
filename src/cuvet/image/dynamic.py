"""What the dynamic loader reads of an ELF file: machine, interpreter, soname, needed libraries, search paths, dynamic symbols.

It is found through the segments, as the loader finds it, in files of 32 and 64 bits and of either byte order. Every length is checked:
bytes from anywhere may be given.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cuvet.image.elf import MAGIC, texts, whole
from cuvet.image.errors import ImageError
from cuvet.image.source import Source

EM_X86_64, EM_AARCH64 = 62, 183
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
"""Types of segments."""
_END, _NEEDED, _HASH, _STRINGS, _SYMBOLS, _STRINGS_BYTES, _SONAME, _RPATH, _RUNPATH = 0, 1, 4, 5, 6, 10, 14, 15, 29
_GNU_HASH = 0x6FFFFEF5
_WEAK = 2
_MOST_DYNAMIC_BYTES = 1 << 20
_MOST_HASH_BYTES = 1 << 26
_MOST_TEXT_BYTES = 1 << 20
"""Of the interpreter's name, and of all sonames and paths together."""


class _Layout(NamedTuple):
    """Of the structures of one class of files: the header's machine, and offset, entry size and number of segments; a segment's
    type, offset, address and bytes in the file; a dynamic entry's tag and value; a symbol's name, info and section."""

    header: str
    segment: str
    entry: str
    symbol: str
    word: int


_LAYOUTS = {
    1: _Layout("18xH8xI10xHH", "III4xI12x", "II", "I8xBxH", 4),
    2: _Layout("18xH12xQ14xHH", "I4xQQ8xQ16x", "QQ", "IBxH16x", 8),
}
_ORDERS = {1: "<", 2: ">"}


@dataclass(frozen=True, slots=True)
class Dynamic:
    """``machine`` is EM_X86_64 (62), EM_AARCH64 (183) …. ``rpath`` and ``runpath`` are the entries as written, ``$ORIGIN`` and all."""

    machine: int
    interpreter: str | None = None
    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DynamicSymbol:
    """``type`` is STT_OBJECT (1), STT_FUNC (2) …; ``defined`` False: another file has it."""

    name: str
    type: int
    defined: bool


class _File:
    def __init__(self, source: Source) -> None:
        ident = source.read(0, 16)
        layout, order = (
            _LAYOUTS.get(ident[4] if len(ident) == 16 else 0),
            _ORDERS.get(ident[5] if len(ident) == 16 else 0),
        )
        if not ident.startswith(MAGIC) or layout is None or order is None:
            raise ImageError("not an ELF file")
        self.source, self.order, self.layout = source, order, layout
        self.machine, offset, size, count = self._one(source, layout.header)
        row = struct.Struct(order + layout.segment)
        if count and size != row.size:
            raise ImageError("the ELF file's segments are of an unknown size")
        self.segments = list(row.iter_unpack(_exactly(source, offset, count * size)))
        self.tags = self._tags()

    def _one(self, source: Source, layout: str) -> tuple[int, ...]:
        row = struct.Struct(self.order + layout)
        return row.unpack(_exactly(source, 0, row.size))

    def segment(self, kind: int) -> Source | None:
        return next((self.source.part(row[1], row[3]) for row in self.segments if row[0] == kind), None)

    def at(self, address: int) -> Source:
        """The part of the file from this address to the end of its segment."""
        for kind, offset, start, size in self.segments:
            if kind == _LOAD and start <= address < start + size:
                return self.source.part(offset + address - start, size - (address - start))
        raise ImageError(f"no segment holds address {address:#x}")

    def _tags(self) -> list[tuple[int, int]]:
        segment = self.segment(_DYNAMIC)
        if segment is None:
            return []
        row = struct.Struct(self.order + self.layout.entry)
        size = min(segment.size, _MOST_DYNAMIC_BYTES) // row.size * row.size
        tags: list[tuple[int, int]] = []
        for tag, value in row.iter_unpack(_exactly(segment, 0, size)):
            if tag == _END:
                return tags
            tags.append((tag, value))
        raise ImageError("the dynamic section does not end")

    def value(self, tag: int) -> int | None:
        return next((value for found, value in self.tags if found == tag), None)

    def strings(self) -> Source:
        address, size = self.value(_STRINGS), self.value(_STRINGS_BYTES)
        if address is None or size is None:
            raise ImageError("the dynamic section has no strings")
        return self.at(address).part(0, size)

    def named(self, *wanted: int) -> dict[int, list[str]]:
        """The strings of these tags."""
        strings = self.strings() if any(tag in wanted for tag, _ in self.tags) else None
        found: dict[int, list[str]] = {tag: [] for tag in wanted}
        room = _MOST_TEXT_BYTES
        for tag, value in self.tags:
            if tag in found and strings is not None:
                text = _text(strings.part(value, strings.size), room)
                room -= len(text)
                found[tag].append(text.decode("utf-8", "replace"))
        return found

    def symbol_count(self) -> int:
        """What the hash tables say, since nothing else does."""
        if (address := self.value(_HASH)) is not None:
            return self._one(self.at(address), "4xI")[0]
        if (address := self.value(_GNU_HASH)) is None:
            return 0
        table = self.at(address)
        buckets, first, words, _ = self._one(table, "4I")
        start = 16 + words * self.layout.word
        last = max(self.numbers(table, start, buckets), default=0)
        if last < first:
            return first
        chain = table.part(start + 4 * (buckets + last - first), table.size)
        for number in range(min(chain.size, _MOST_HASH_BYTES) // 4):  # the last of a chain is odd
            if self._one(chain.part(4 * number, 4), "I")[0] & 1:
                return last + number + 1
        raise ImageError("the table of symbols does not end")

    def numbers(self, table: Source, start: int, count: int) -> tuple[int, ...]:
        """32-bit words from ``start``."""
        if 4 * count > _MOST_HASH_BYTES:
            raise ImageError("the table of symbols is too large")
        return struct.unpack(f"{self.order}{count}I", _exactly(table, start, 4 * count))


def read(source: Source) -> Dynamic:
    """ImageError if it is no ELF file, or what the loader needs of it is not there."""
    file = _File(source)
    interpreter = file.segment(_INTERPRETER)
    named = file.named(_SONAME, _NEEDED, _RPATH, _RUNPATH)
    return Dynamic(
        file.machine,
        None if interpreter is None else _text(interpreter, _MOST_TEXT_BYTES).decode("utf-8", "replace"),
        next(iter(named[_SONAME]), None),
        tuple(named[_NEEDED]),
        _entries(named[_RPATH]),
        _entries(named[_RUNPATH]),
    )


def symbols(source: Source) -> tuple[DynamicSymbol, ...]:
    """Those with names, in the order of their table. ImageError as ``read``."""
    file = _File(source)
    return tuple(
        DynamicSymbol(name, info & 15, section != 0)
        for name, info, section in _named_symbols(file, file.symbol_count())
    )


def undefined(source: Source) -> tuple[str, ...]:
    """Names of the symbols that other files must define, weak ones left out. ImageError as ``read``. Of a large library this reads
    little: a GNU hash table says where the defined symbols begin."""
    file = _File(source)
    address = file.value(_GNU_HASH)
    count = file.symbol_count() if address is None else file.numbers(file.at(address), 4, 1)[0]
    return tuple(name for name, info, section in _named_symbols(file, count) if section == 0 and info >> 4 != _WEAK)


def _named_symbols(file: _File, count: int) -> Iterator[tuple[str, int, int]]:
    """Name, info and section of the first ``count`` symbols, as far as they have names."""
    address = file.value(_SYMBOLS)
    if address is None or not count:
        return
    row = struct.Struct(file.order + file.layout.symbol)
    table = whole(file.at(address).part(0, count * row.size))
    rows = list(row.iter_unpack(table[: len(table) // row.size * row.size]))
    names = texts(file.strings(), [name for name, _, _ in rows])
    for name, (_, info, section) in zip(names, rows, strict=True):
        if name:
            yield name, info, section


def _entries(paths: list[str]) -> tuple[str, ...]:
    return tuple(entry for path in paths for entry in path.split(":") if entry)


def _text(source: Source, most: int) -> bytes:
    """Up to the NUL, or the end; ImageError if it is longer than ``most`` bytes."""
    text, piece = b"", source.read(0, 256)
    while piece and b"\0" not in piece and len(text) <= most:
        text += piece
        piece = source.read(len(text), len(text))
    text += piece.partition(b"\0")[0]
    if len(text) > most:
        raise ImageError("the ELF file's names are too long")
    return text


def _exactly(source: Source, offset: int, size: int) -> bytes:
    data = source.read(offset, size) if offset + size <= source.size else b""
    if len(data) != size:
        raise ImageError(f"truncated: {source.size} bytes of {offset + size}")
    return data
