"""Lines of methods: what portable PDBs and mono's files may hold, entry by entry and up to their limits."""

from __future__ import annotations

import shutil
import struct
import sys
from pathlib import Path

import pytest

from cuvet.recording.assembly import Assembly, BadAssembly
from cuvet.recording.managed_lines import ManagedLines
from cuvet.recording.sequence_points import Point, lines_of

sys.path.insert(0, str(Path(__file__).parent))
import assemblies as a
from test_managed_lines import COPY, END, FAR, FURTHER, LINE, PROGRAM, SOURCE, SYNCHRONIZE, mdb

A, B = "/src/a.cs", "/src/b.cs"


def length(count: int) -> bytes:
    return bytes([count]) if count < 0x80 else struct.pack(">I", count | 0xC000_0000)


def pdb(*sequences: bytes, names: tuple[bytes, ...] = (b"/\0\1\5", b"/\0\1\x0a"), document: int = 1) -> bytes:
    """A file with these documents and a method for each of the sequences of points."""
    heap = bytearray(b"\0\3src\4a.cs\4b.cs\2\xffx")

    def put(blob: bytes) -> int:
        heap.extend(length(len(blob)) + blob)
        return len(heap) - len(length(len(blob))) - len(blob)

    documents = [(put(name), 0, 0, 0) for name in names]
    methods = [(document, put(each) if each else 0) for each in sequences]
    return a.metadata({48: documents, 49: methods}, blobs=bytes(heap), large=4)


SIGNATURE = 0x11


@pytest.mark.parametrize(
    ("sequence", "points"),
    [
        ([0, 0, 5, 41, 9], [(0, A, 41)]),
        ([3, 0, 5, 41, 9], [(3, A, 41)]),
        ([0, 2, 0, 41, 9], [(0, A, 41)]),  # of several lines, and to the column where it began
        ([0, 0, 0], [(0, "", 0)]),
        ([0, 0, 0, 4, 0, 5, 41, 9], [(0, "", 0), (4, A, 41)]),  # the first that has a line has it without a sign
        ([0, 0, 5, 41, 9, 4, 0, 0, 3, 0, 5, 4, 0], [(0, A, 41), (4, "", 0), (7, A, 43)]),
        ([0, 0, 5, 41, 9, 4, 1, 2, 0x7F, 0], [(0, A, 41), (4, A, 40)]),
        ([0, 0, 5, 41, 9, 4, 0, 5, 2, 2, 4, 0, 5, 2, 2], [(0, A, 41), (4, A, 42), (8, A, 43)]),
        ([0, 0, 5, 41, 9, 0, 2, 4, 0, 5, 2, 2], [(0, A, 41), (4, B, 42)]),
        ([0, 0, 5, 41, 9, 0, 2, 0, 1, 4, 0, 5, 2, 2], [(0, A, 41), (4, A, 42)]),
        ([0, 0, 5, 0x81, 0, 9], [(0, A, 256)]),
        ([], []),
    ],
)
def test_points_of_a_portable_pdb(sequence: list[int], points: list[tuple[int, str, int]]) -> None:
    assert lines_of(pdb(bytes([SIGNATURE, *sequence])))(1) == [Point(*each) for each in points]


def test_each_method_of_a_portable_pdb_has_its_points() -> None:
    found = lines_of(pdb(b"", bytes([SIGNATURE, 0, 0, 5, 41, 9]), bytes([SIGNATURE, 0, 0, 5, 42, 9]), document=2))
    assert [found(row) for row in (1, 2, 3)] == [[], [Point(0, B, 41)], [Point(0, B, 42)]]
    for row in (0, 4):
        with pytest.raises(BadAssembly):
            found(row)


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_point_that_is_cut_off_is_damage(cut: int) -> None:
    with pytest.raises(BadAssembly):
        lines_of(pdb(bytes([SIGNATURE, 0, 0, 5, 41, 9][: 1 + cut])))(1)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (b"/\0\1\5", A),
        (b"/\1\5", "src/a.cs"),
        (b"\\\1\5", "src\\a.cs"),
        (b"\0\1\5", "srca.cs"),
        (b"/", ""),
        (b"/\1\x0f", "src/\ufffdx"),
    ],
)
def test_names_of_documents_are_joined_from_their_parts(name: bytes, path: str) -> None:
    assert lines_of(pdb(bytes([SIGNATURE, 0, 0, 5, 41, 9]), names=(name,)))(1) == [Point(0, path, 41)]


def test_a_method_has_at_most_65536_points() -> None:
    hidden = bytes([SIGNATURE, *[1, 0, 0] * 65_600])
    assert len(lines_of(pdb(hidden))(1)) == 65536
    assert len(lines_of(mdb(bytes([COPY] * 65_600) + END))(1)) == 65536
    assert len(lines_of(mdb(bytes([COPY] * 65_535) + END))(1)) == 65535


@pytest.mark.parametrize(
    ("program", "points"),
    [
        ([], []),
        ([COPY], [(0, A, 1)]),
        ([COPY, COPY], [(0, A, 1), (0, A, 1)]),
        ([FURTHER, 5], [(5, A, 1)]),
        ([LINE, 5], [(0, A, 6)]),
        ([SOURCE, 2], [(0, B, 1)]),
        ([FAR], [(17, A, 1)]),
        ([FAR, FAR, COPY], [(34, A, 1)]),
        ([SOURCE, 0, COPY], [(0, "", 0)]),
        ([SOURCE, 3, COPY], [(0, "", 0)]),
        ([SOURCE, 2, SOURCE, 1, COPY], [(0, A, 1)]),
        ([9], [(0, A, 0)]),
        ([255], [(17, A, 1 - 1 + 246 % 14)]),
        ([9 + 3, 9 + 3, COPY], [(0, A, 3), (0, A, 5), (0, A, 5)]),
        ([9 + 14, 9 + 28], [(1, A, 0), (3, A, -1)]),
        ([0, 3, 0x41, 9, 9], [(0, A, 1)]),  # another extended instruction
        ([COPY, 0, 1, 0x40], [(0, A, 1), (0, A, 0)]),
        ([FURTHER, 5, COPY], [(5, A, 1)]),
        ([FURTHER, 5, 11], [(5, A, 2)]),
        ([FURTHER, 5, 0, 1, 0x40, 11, 0, 1, 0x40, 11], [(5, A, 0), (5, A, 3)]),
        ([FURTHER, 5, FURTHER, 6, COPY], [(11, A, 1)]),
        ([FURTHER, 0x85, 0x80, 0x80, 0x80, 0xF0, COPY], [(5, A, 1)]),  # a number has five bytes at most
        ([LINE, 0x80, 0x80, 0x80, 0x80, 8, COPY], [(0, A, 1 - (1 << 31))]),
        ([LINE, 0xFF, 0xFF, 0xFF, 0xFF, 7, COPY], [(0, A, 1 << 31)]),
        ([LINE, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, COPY], [(0, A, -1)]),
    ],
)
def test_programs_of_lines(program: list[int], points: list[tuple[int, str, int]]) -> None:
    assert lines_of(mdb(bytes(program) + END))(1) == [Point(*each) for each in points]


def test_after_the_end_of_a_program_nothing_is_read() -> None:
    assert lines_of(mdb(bytes([COPY]) + END + bytes([COPY])))(1) == [Point(0, A, 1)]
    with pytest.raises(BadAssembly):
        lines_of(mdb(bytes([COPY])))(1)


@pytest.mark.parametrize("opcode", [5, 6, 7])
def test_unknown_instructions_are_damage(opcode: int) -> None:
    with pytest.raises(BadAssembly, match="an instruction of lines that is not known"):
        lines_of(mdb(bytes([opcode]) + END))(1)


def test_a_program_has_at_most_a_mebibyte_and_a_name_16_kibibytes() -> None:
    long, filled = bytes([0, 255]) + b"\x41" * 255, (1 << 20) - len(END)  # an instruction that means nothing
    whole = long * (filled // len(long)) + bytes([COPY]) * (filled % len(long))
    assert lines_of(mdb(whole + END))(1) != []
    with pytest.raises(BadAssembly):
        lines_of(mdb(bytes([COPY]) + whole + END))(1)
    for size, fits in (((1 << 14) - 2, True), ((1 << 14) - 1, False)):
        data = bytearray(mdb(bytes([COPY]) + END, sources=(b"",)))
        struct.pack_into("<I", data, 0x104, len(data))
        data += bytes([0x80 | size & 0x7F, size >> 7]) + b"n" * size
        if fits:
            assert lines_of(bytes(data))(1) == [Point(0, "n" * size, 1)]
        else:
            with pytest.raises(BadAssembly):
                lines_of(bytes(data))(1)


def test_only_the_files_that_a_method_names_are_read() -> None:
    data = bytearray(mdb(bytes([SOURCE, 2, COPY, SOURCE, 3, COPY]) + END))
    struct.pack_into("<I", data, 0x104, 0x7FFFFFFF)  # where the name of the first is
    assert lines_of(bytes(data))(1) == [Point(0, B, 1), Point(0, "", 0)]


def test_methods_of_mono_are_found_by_their_rows() -> None:
    """As many as the file says that there are; the highest byte of a token names its table."""
    data = bytearray(mdb(bytes([COPY]) + END))
    start = len(data)
    table = b"".join(
        struct.pack("<III", 0x06000000 + row, 0, start + 36 + 3 * at) for at, row in enumerate((7, 0x123456, 9))
    )
    data += table + b"".join(bytes([FURTHER, row, COPY]) for row in (1, 2, 3)) + END
    struct.pack_into("<ii", data, 0x44, 2, start)
    found = lines_of(bytes(data))
    assert [point.offset for point in found(7)] == [1, 3, 6]
    assert [point.offset for point in found(0x123456)] == [2, 5]
    assert found(9) == found(1) == []


def test_a_call_on_no_line_has_none(tmp_path: Path) -> None:
    program = Path(shutil.copy(PROGRAM, tmp_path))
    methods = len(Assembly(program.read_bytes()).methods)
    for points, place in (([0, 0, 5, 41, 9], (A, 41)), ([0, 0, 5, 41, 9, 1, 0, 0], None), ([0, 0, 0], None)):
        program.with_suffix(".pdb").write_bytes(pdb(*[bytes([SIGNATURE, *points])] * methods))
        found = ManagedLines([program]).of_call("Work.Pipeline.Wait/1", SYNCHRONIZE, None)
        assert found == ("Program.exe", place)


def test_a_point_after_the_call_is_not_of_it(tmp_path: Path) -> None:
    program = Path(shutil.copy(PROGRAM, tmp_path))
    assembly = Assembly(program.read_bytes())
    (method,) = (each for each in assembly.methods if each.name == "Work.Pipeline.Wait/1")
    (call,) = assembly.calls(method)
    for first, place in ((call.offset, (A, 41)), (call.offset + 1, None)):
        points = bytes([SIGNATURE, first, 0, 5, 41, 9])
        program.with_suffix(".pdb").write_bytes(pdb(*[points] * len(assembly.methods)))
        assert ManagedLines([program]).of_call("Work.Pipeline.Wait/1", SYNCHRONIZE, None) == ("Program.exe", place)


def test_what_begins_as_neither_is_no_file_of_symbols() -> None:
    for data in (b"", b"BSJ", mdb(END)[1:], bytes(200)):
        with pytest.raises(BadAssembly):
            lines_of(data)
