"""GPU core dumps: ELF files that a driver writes when a kernel has failed (CUDA_ENABLE_COREDUMP_ON_EXCEPTION).

The form is that of ``include/cudacoredump.h`` in https://github.com/NVIDIA/cuda-gdb; dumps of an H200 (driver 580.159.04) were looked
at. Tables are sections of a type of their own; ``link`` and ``info`` of a section name the table and the row of it that it is about. A row
may be longer than it is here. A dump does not say which address was accessed: it has what the kernels were given, and where they stopped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from cuvet.image import cubin, elf
from cuvet.image.errors import ImageError
from cuvet.image.source import Source

_CORE = 4
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_TYPES = 0x80000000
_RELOCATED, _CONTEXTS, _MULTIPROCESSORS, _GRIDS, _BLOCKS, _WARPS, _LANES, _MODULES, _ARGUMENTS = (
    7,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    18,
)
_READ = frozenset({_RELOCATED, _CONTEXTS, _MULTIPROCESSORS, _GRIDS, _BLOCKS, _WARPS, _LANES, _MODULES, _ARGUMENTS})
_MOST_SECTIONS = 1 << 21
"""An H200 with all its threads has about 1.4 million."""
_MOST_TABLE, _MOST_OF_WARP, _MOST_IMAGES, _MOST_ARGUMENTS = 1 << 20, 1 << 13, 1 << 28, 1 << 15
"""Bytes that are read: of a table, of one about a block or a warp, of all code, of the arguments of a kernel."""
_MOST_GRIDS, _MOST_STOPS, _MOST_WARPS = 256, 16, 1 << 15
_AT_ONCE = 1 << 14
_GRID, _GRID_SHAPE = struct.Struct("<QQQQQQQ"), struct.Struct("<IIIIII4xI")
_SHAPE_AT = 72
_BLOCK = struct.Struct("<QIII")
_WARP = struct.Struct("<Q16xI")
_LANE = struct.Struct("<Q8x4xIIII")
_MULTIPROCESSOR = struct.Struct("<I4xIIQ")
_MODULE = struct.Struct("<Q")

EXCEPTIONS = {
    1: "Lane Illegal Address",
    2: "Lane User Stack Overflow",
    3: "Device Hardware Stack Overflow",
    4: "Warp Illegal Instruction",
    5: "Warp Out-of-range Address",
    6: "Warp Misaligned Address",
    7: "Warp Invalid Address Space",
    8: "Warp Invalid PC",
    9: "Warp Hardware Stack Overflow",
    10: "Device Illegal Address",
    11: "Lane Misaligned Address",
    12: "Warp Assert",
    13: "Lane Syscall Error",
    14: "Warp Illegal Address",
}
"""By number: CUDA-GDB documentation, GPU Error Reporting, CUDA Exception Codes (CUDA_EXCEPTION_1 …)."""

Dimensions = tuple[int, int, int]


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel that ran when the dump was written. ``kernel`` is its symbol, "" if the dump has no code of it; ``arguments`` their bytes,
    ``layout`` the offset and the size of each, empty if that is not known. ``thread``: of the host, which launched it."""

    kernel: str
    grid: Dimensions
    block: Dimensions
    thread: int
    arguments: bytes = b""
    layout: tuple[tuple[int, int], ...] = ()

    def words(self) -> Iterator[tuple[int, int, int]]:
        """Parameter, offset in it, and value of each word of 8 bytes."""
        for number, (at, size) in enumerate(self.layout):
            data = self.arguments[max(at, 0) :][: max(size, 0)]
            for offset in range(0, len(data) - 7, 8):
                yield number, offset, int.from_bytes(data[offset : offset + 8], "little")


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """Threads of a grid that stopped with the same exception at the same instruction, ``at`` bytes into the kernel (-1: not known);
    ``block`` and ``thread`` are of the first of them. ``grid`` counts from 0; -1: which one is not known."""

    exception: int
    grid: int
    at: int = -1
    block: Dimensions | None = None
    thread: Dimensions | None = None
    threads: int = 0

    @property
    def name(self) -> str:
        return EXCEPTIONS.get(self.exception, f"exception {self.exception}")


class CoreDump(msgspec.Struct, frozen=True, kw_only=True):
    """``stops`` is empty if no exception is in the dump: a trap leaves none."""

    grids: tuple[Grid, ...] = ()
    stops: tuple[Stop, ...] = ()

    def failed(self) -> tuple[Grid, ...]:
        """The kernels that stopped with an exception, or all that ran if there is none."""
        found = dict.fromkeys(each.grid for each in self.stops)
        if not self.stops:
            return self.grids
        return tuple(self.grids[each] for each in found if 0 <= each < len(self.grids))

    def grid_of(self, stop: Stop) -> Grid | None:
        return self.grids[stop.grid] if 0 <= stop.grid < len(self.grids) else None


class _Section(NamedTuple):
    number: int
    type: int
    link: int
    info: int
    contents: Source
    row: int


class _Placed(NamedTuple):
    """A grid, and what leads to it in the tables."""

    grid: Grid
    device: int
    id: int
    entry: int
    end: int


def read(source: Source) -> CoreDump:
    """ImageError if it is no whole GPU core dump."""
    dump = _Dump(source)
    return CoreDump(grids=tuple(each.grid for each in dump.grids), stops=dump.stops())


class _Dump:
    def __init__(self, source: Source) -> None:
        self._by_place: dict[tuple[int, int, int], _Section] = {}
        self._of_type: dict[int, list[_Section]] = {kind: [] for kind in _READ}
        for section in _sections(source):
            self._of_type[section.type].append(section)
            self._by_place[section.type, section.link, section.info] = section
        self._room = _MOST_IMAGES
        self._by_number = {each.number: each for found in self._of_type.values() for each in found}

    # Kernels.

    @cached_property
    def grids(self) -> tuple[_Placed, ...]:
        found: list[_Placed] = []
        for table in self._of_type[_GRIDS]:
            for number, row in enumerate(_rows(table, _SHAPE_AT + _GRID_SHAPE.size)):
                if len(found) < _MOST_GRIDS:
                    found.append(self._grid(table, number, row))
        return tuple(found)

    def _grid(self, table: _Section, number: int, row: bytes) -> _Placed:
        identity, _, _, entry, module, _, _ = _GRID.unpack_from(row)
        *shape, thread = _GRID_SHAPE.unpack_from(row, _SHAPE_AT)
        name, size, layout = self._kernel(module, entry)
        given = self._by_place.get((_ARGUMENTS, table.number, number))
        arguments = given.contents.read(0, _MOST_ARGUMENTS) if given is not None else b""
        fits = all(at + bytes_ <= len(arguments) for at, bytes_ in layout)
        grid = Grid(
            kernel=name,
            grid=(shape[0], shape[1], shape[2]),
            block=(shape[3], shape[4], shape[5]),
            thread=thread,
            arguments=arguments,
            layout=layout if fits else (),
        )
        return _Placed(grid, table.info, identity, entry, entry + size)

    def _kernel(self, module: int, entry: int) -> tuple[str, int, tuple[tuple[int, int], ...]]:
        """Name, bytes of code and layout of the arguments of the kernel whose code begins there."""
        image = self._images.get(module)
        if image is None:
            return "", 0, ()
        self._room -= image.size
        return _in_image(image, entry) if self._room >= 0 else ("", 0, ())

    @cached_property
    def _images(self) -> dict[int, Source]:
        """The code of each module, by its handle."""
        found = {}
        for table in self._of_type[_MODULES]:
            for number, row in enumerate(_rows(table, _MODULE.size)):
                image = self._by_place.get((_RELOCATED, table.number, number))
                if image is not None:
                    found[_MODULE.unpack_from(row)[0]] = image.contents
        return found

    # Threads that stopped.

    def stops(self) -> tuple[Stop, ...]:
        found: dict[tuple[int, int, int], Stop] = {}
        for each in [*self._of_lanes()] or [*self._of_multiprocessors()]:
            known = found.get((each.exception, each.grid, each.at))
            if known is not None:
                found[each.exception, each.grid, each.at] = msgspec.structs.replace(known, threads=known.threads + 1)
            elif len(found) < _MOST_STOPS:
                found[each.exception, each.grid, each.at] = each
        return tuple(found.values())

    def _of_lanes(self) -> Iterator[Stop]:
        for lanes in self._of_type[_LANES][:_MOST_WARPS]:
            rows = [_LANE.unpack_from(row) for row in _rows(lanes, _LANE.size, _MOST_OF_WARP)]
            if any(exception for *_, exception in rows):
                yield from self._stopped(lanes, rows)

    def _stopped(self, lanes: _Section, rows: list[tuple[int, ...]]) -> Iterator[Stop]:
        warp, block = self._row_of(lanes, _WARP.size), None
        warps = self._by_number.get(lanes.link)
        if warps is not None:
            block = self._row_of(warps, _BLOCK.size)
        blocks = self._by_number.get(warps.link) if warps is not None else None
        of_device = self._by_number.get(blocks.link) if blocks is not None else None
        identity, *place = _BLOCK.unpack_from(block) if block else (0, 0, 0, 0)
        grid = self._number_of(of_device.info if of_device is not None else -1, identity) if block else -1
        error, valid = _WARP.unpack_from(warp) if warp else (0, 0)
        for virtual, x, y, z, exception in rows:
            if exception:
                yield Stop(
                    exception=exception,
                    grid=grid,
                    at=self._offset(grid, error if valid else virtual),
                    block=(place[0], place[1], place[2]) if block else None,
                    thread=(x, y, z),
                    threads=1,
                )

    def _of_multiprocessors(self) -> Iterator[Stop]:
        """Where the threads have exited before the exception was told."""
        for table in self._of_type[_MULTIPROCESSORS]:
            for row in _rows(table, _MULTIPROCESSOR.size):
                _, exception, valid, error = _MULTIPROCESSOR.unpack_from(row)
                if exception:
                    grid = self._running(table.info, error) if valid else -1
                    yield Stop(exception=exception, grid=grid, at=self._offset(grid, error))

    def _row_of(self, section: _Section, size: int) -> bytes | None:
        """The row of the table that the section is about."""
        table = self._by_number.get(section.link)
        if table is None:
            return None
        return next(
            (row for number, row in enumerate(_rows(table, size, _MOST_OF_WARP)) if number == section.info), None
        )

    def _number_of(self, device: int, identity: int) -> int:
        places = (number for number, each in enumerate(self.grids) if (each.device, each.id) == (device, identity))
        return next(places, -1)

    def _running(self, device: int, address: int) -> int:
        """The only grid of that device whose kernel's code has the address."""
        found = [
            number
            for number, each in enumerate(self.grids)
            if each.device == device and each.entry <= address < each.end
        ]
        return found[0] if len(found) == 1 else -1

    def _offset(self, grid: int, address: int) -> int:
        if grid < 0:
            return -1
        placed = self.grids[grid]
        return address - placed.entry if placed.entry <= address < placed.end else -1


def _sections(source: Source) -> Iterator[_Section]:
    """Those that are read."""
    header = source.read(0, _HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(elf.MAGIC):
        raise ImageError("not an ELF file")
    _, kind, machine, _, _, _, offset, _, _, _, _, entry_size, count, _ = _HEADER.unpack(header)
    if machine != cubin.EM_CUDA or kind != _CORE:
        raise ImageError("not a GPU core dump")
    if entry_size != _SECTION.size:
        raise ImageError("the core dump has no sections")
    first = source.read(offset, _SECTION.size)
    if not count and len(first) == _SECTION.size:
        count = _SECTION.unpack(first)[5]
    if count > _MOST_SECTIONS:
        raise ImageError(f"the core dump has {count:,} sections")
    if offset + count * _SECTION.size > source.size:
        raise ImageError(f"truncated: {source.size} bytes of {offset + count * _SECTION.size}")
    for start in range(0, count, _AT_ONCE):
        rows = source.read(offset + start * _SECTION.size, min(_AT_ONCE, count - start) * _SECTION.size)
        for number, row in enumerate(_SECTION.iter_unpack(rows), start):
            _, kind, _, _, at, size, link, info, _, each = row
            if kind - _TYPES in _READ and at + size <= source.size:
                yield _Section(number, kind - _TYPES, link, info, source.part(at, size), each)


def _rows(table: _Section, least: int, most: int = _MOST_TABLE) -> list[bytes]:
    """None if they are shorter than what is read of them."""
    data = table.contents.read(0, most) if table.row >= least else b""
    return [data[at : at + table.row] for at in range(0, len(data) - table.row + 1, table.row)] if data else []


def _in_image(image: Source, entry: int) -> tuple[str, int, tuple[tuple[int, int], ...]]:
    data = image.read(0, image.size)
    try:
        sections = elf.parse(data).sections
        code = next((each for each in sections if each.address == entry and each.name.startswith(".text.")), None)
        if code is None:
            return "", 0, ()
        name = code.name.removeprefix(".text.")
        kernel = cubin.parse(data).kernels.get(name)
    except ImageError:
        return "", 0, ()
    return name, code.size, tuple((each.offset, each.size) for each in kernel.parameters) if kernel is not None else ()
