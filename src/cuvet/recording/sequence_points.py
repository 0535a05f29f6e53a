"""Lines of the methods of assemblies, from the files of symbols beside them: portable PDBs, and mono's ``.mdb``.

A portable PDB is described in https://github.com/dotnet/runtime/blob/main/docs/design/specs/PortablePdb-Metadata.md, the other in
mono's Mono.CompilerServices.SymbolWriter.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from cuvet.recording.assembly import BadAssembly, Blob, Metadata, unpack

_DOCUMENT, _METHOD_LINES = 48, 49
_MDB = 0x45E82623FD7FA614
_MOST_POINTS = 1 << 16
_MOST_PROGRAM_BYTES = 1 << 20
_MOST_NAME_BYTES = 1 << 14
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _ADD_PC = 1, 2, 3, 4, 8
_EXTENDED, _END, _NEGATE_HIDDEN = 0, 1, 0x40


class Point(NamedTuple):
    """Code from ``offset`` on is of this line; 0: of none."""

    offset: int
    file: str
    line: int


Lines = Callable[[int], list[Point]]
"""Of the method with that row, in the order of its code."""


def lines_of(data: bytes) -> Lines:
    """BadAssembly if the data is no file of symbols, as is every call of what it returns if that is damaged."""
    if data[:4] == b"BSJB":
        tables = Metadata(data, 0)
        return lambda row: _of_pdb(tables, row)
    if unpack("<Q", data, 0)[0] == _MDB:
        return lambda row: _of_mdb(data, row)
    raise BadAssembly("no file of symbols")


def _of_pdb(tables: Metadata, row: int) -> list[Point]:
    document, sequence = tables.row(_METHOD_LINES, row)
    if not sequence:
        return []
    blob = Blob(tables.blob(sequence))
    blob.unsigned()  # the signature of its variables
    document = document or blob.unsigned()
    points: list[Point] = []
    offset, line, shown = 0, 0, False
    while blob and len(points) < _MOST_POINTS:
        delta = blob.unsigned()
        if points and not delta:
            document = blob.unsigned()
            continue
        offset += delta
        lines, columns = blob.unsigned(), blob.unsigned()  # columns may have a sign, but are 0 with and without
        if not (lines or columns):
            points.append(Point(offset, "", 0))
            continue
        line += blob.signed() if shown else blob.unsigned()
        blob.unsigned()  # the column
        shown = True
        points.append(Point(offset, _document(tables, document), line))
    return points


def _document(tables: Metadata, row: int) -> str:
    name = Blob(tables.blob(tables.row(_DOCUMENT, row)[0]))
    separator = name.take(1).replace(b"\0", b"")
    parts = []
    while name:
        parts.append(tables.blob(index) if (index := name.unsigned()) else b"")
    return separator.join(parts).decode("utf-8", "replace")


def _of_mdb(data: bytes, row: int) -> list[Point]:
    sources, sources_at, methods, methods_at = unpack("<ii4xii", data, 0x38)
    line_base, line_range, opcode_base = unpack("<iii", data, 0x60)
    if not (line_range > 0 and 0 < opcode_base < 256):
        raise BadAssembly("a table of lines that cannot be")
    for number in range(methods):
        token, _, start = unpack("<III", data, methods_at + 12 * number)
        if token & 0xFFFFFF == row:

            @cache
            def source(number: int) -> str:
                return _source(data, sources_at + 8 * (number - 1)) if 1 <= number <= sources else ""

            return _run(_Leb(data[start : start + _MOST_PROGRAM_BYTES]), source, line_base, line_range, opcode_base)
    return []


class _Leb(Blob):
    def number(self) -> int:
        """Seven bits a byte, the lowest first, in 32 bits."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift >= 35:
                value &= 0xFFFFFFFF
                return value - (value >> 31 << 32)


def _source(data: bytes, at: int) -> str:
    _, start = unpack("<II", data, at)
    name = _Leb(data[start : start + _MOST_NAME_BYTES])
    return name.take(max(0, name.number())).decode("utf-8", "replace")


def _run(program: _Leb, source: Callable[[int], str], line_base: int, line_range: int, opcode_base: int) -> list[Point]:
    """The program of lines of one method."""
    points: list[Point] = []
    file, line, offset, hidden, changed = 1, 1, 0, False, False

    def add() -> None:
        name = source(file)
        points.append(Point(offset, name, 0 if hidden or not name else line))

    while len(points) < _MOST_POINTS:
        opcode = program.take(1)[0]
        if opcode == _EXTENDED:
            extended = program.take(program.take(1)[0])
            if extended[:1] == bytes([_END]):
                if changed:
                    add()
                break
            hidden ^= extended[:1] == bytes([_NEGATE_HIDDEN])
            changed = True
        elif opcode >= opcode_base:
            offset += (opcode - opcode_base) // line_range
            line += line_base + (opcode - opcode_base) % line_range
            add()
            changed = False
        elif opcode == _COPY:
            add()
            changed = False
        else:
            changed = True
            if opcode == _ADVANCE_PC:
                offset += program.number()
            elif opcode == _ADVANCE_LINE:
                line += program.number()
            elif opcode == _SET_FILE:
                file = program.number()
            elif opcode == _ADD_PC:
                offset += (255 - opcode_base) // line_range
            else:
                raise BadAssembly("an instruction of lines that is not known")
    return points
