"""Lines of calls in assemblies. ``managed/`` has one with its symbols, as mono's compiler makes them."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path

import pytest

from cuvet.recording.assembly import Assembly, BadAssembly
from cuvet.recording.managed_lines import Callee, ManagedLines, Native, Place, assemblies_of
from cuvet.recording.sequence_points import Point, lines_of

PROGRAM = Path(__file__).parent / "managed" / "Program.exe"
SYMBOLS = Path(f"{PROGRAM}.mdb")
SYNCHRONIZE = Native({"cuStreamSynchronize", "cuStreamSynchronize_ptsz"})
FILE = "/src/Program.cs"


@pytest.mark.parametrize(
    ("caller", "callee", "place"),
    [
        ("Work.Program.Main/0", "Work.Pipeline..ctor/0", (FILE, 59)),
        ("Work.Program.Main/0", "Work.Pipeline.Inner.Close/1", (FILE, 61)),
        ("Work.Pipeline.Inner.Close/1", Native({"cuStreamDestroy", "cuStreamDestroy_v2"}), (FILE, 20)),
        ("Work.Pipeline.Flush/0", "Work.Pipeline.Flush/1", (FILE, 26)),
        ("Work.Pipeline.Wait/1", SYNCHRONIZE, (FILE, 45)),
    ],
)
def test_a_call_that_stands_in_one_place_has_its_line(caller: str, callee: Callee, place: Place) -> None:
    assert ManagedLines([PROGRAM]).of_call(caller, callee, None) == ("Program.exe", place)
    assert ManagedLines([PROGRAM]).of_call(caller, callee, "Program") == ("Program.exe", place)


@pytest.mark.parametrize(
    ("caller", "callee"),
    [
        ("Work.Pipeline.Flush/1", SYNCHRONIZE),  # in two places
        ("Work.Pipeline.Both/0", SYNCHRONIZE),  # Wait does it as well, and is short enough to become part of it
        ("Work.Program.Main/0", "Work.Pipeline.Wait/1"),  # so does Both
        ("Work.Pipeline.Wait/1", "Work.Pipeline.Both/0"),  # in none
        ("Work.Pipeline.Wait/1", Native()),
    ],
)
def test_a_call_that_may_stand_elsewhere_has_no_line(caller: str, callee: Callee) -> None:
    assert ManagedLines([PROGRAM]).of_call(caller, callee, None) == ("Program.exe", None)


def test_a_method_of_another_assembly_is_none(tmp_path: Path) -> None:
    lines = ManagedLines([PROGRAM])
    assert lines.of_call("Work.Pipeline.Elsewhere/0", SYNCHRONIZE, None) is None
    assert lines.of_call("Work.Pipeline.Wait/1", SYNCHRONIZE, "Other") is None
    copy = shutil.copy(PROGRAM, tmp_path / "Copy.dll")
    assert ManagedLines([PROGRAM, Path(copy)]).of_call("Work.Pipeline.Wait/1", SYNCHRONIZE, None) is None


def test_without_symbols_the_assembly_is_known(tmp_path: Path) -> None:
    copy = Path(shutil.copy(PROGRAM, tmp_path))
    assert ManagedLines([copy]).of_call("Work.Pipeline.Wait/1", SYNCHRONIZE, None) == ("Program.exe", None)


def test_the_assemblies_are_those_of_the_command_line_and_the_libraries_beside_them(tmp_path: Path) -> None:
    for name in ("App.exe", "Other.exe", "Library.dll", "libnative.so", "app.dll"):
        (tmp_path / name).touch()
    found = assemblies_of(["mono", str(tmp_path / "App.exe"), "a.dll"], "/usr/bin/mono")
    assert [path.name for path in found] == ["App.exe", "Library.dll", "app.dll"]
    assert assemblies_of(["./app"], str(tmp_path / "app"))[0].name == "app.dll"
    assert assemblies_of(["sh"], "/bin/sh") == []


def portable_pdb(sequence: bytes) -> bytes:
    """Symbols of one method in the files ``/src/a.cs`` and ``/src/b.cs``, as the specification describes them."""
    blobs = {b"": 0}
    heap = bytearray(b"\0")
    for blob in (b"src", b"a.cs", b"b.cs", b"/\0\x01\x05", b"/\0\x01\x0a", sequence):
        blobs[blob] = len(heap)
        heap += bytes([len(blob)]) + blob
    assert (blobs[b"src"], blobs[b"a.cs"], blobs[b"b.cs"]) == (1, 5, 10)
    present = 1 << 48 | 1 << 49
    tables = struct.pack("<IBBBBQQII", 0, 2, 0, 0, 1, present, 0, 2, 1)
    for name in (b"/\0\x01\x05", b"/\0\x01\x0a"):
        tables += struct.pack("<HHHH", blobs[name], 0, 0, 0)
    tables += struct.pack("<HH", 1, blobs[sequence])
    start = 16 + 12 + 4 + 12 + 16
    root = b"BSJB" + struct.pack("<HHII", 1, 1, 0, 12) + b"PDB v1.0\0\0\0\0" + struct.pack("<HH", 0, 2)
    root += struct.pack("<II", start, len(tables)) + b"#~\0\0"
    root += struct.pack("<II", start + len(tables), len(heap)) + b"#Blob\0\0\0"
    return root + tables + bytes(heap)


def test_a_portable_pdb_is_read() -> None:
    sequence = b"".join(
        map(
            bytes,
            [
                [0x11],  # the signature of the variables
                [0, 0, 5, 41, 9],  # offset 0: line 41
                [7, 1, 0x7B, 2, 0x79],  # offset 7: one line further; the sign is the lowest bit
                [1, 0, 0],  # offset 8: of no line
                [0, 2],  # the second file
                [0x80, 0x90, 0, 3, 0x77, 4],  # offset 152: five lines back
            ],
        )
    )
    assert lines_of(portable_pdb(sequence))(1) == [
        Point(0, "/src/a.cs", 41),
        Point(7, "/src/a.cs", 42),
        Point(8, "", 0),
        Point(152, "/src/b.cs", 37),
    ]


def test_a_method_without_lines_has_none() -> None:
    assert lines_of(SYMBOLS.read_bytes())(1) == []
    assert lines_of(SYMBOLS.read_bytes())(1000) == []


@pytest.mark.parametrize(
    "data", [b"", b"MZ", b"BSJB", b"MZ" + b"\xff" * 4000, b"\x7fELF" + bytes(4000), b"MZ" + bytes(4000)]
)
def test_what_is_no_assembly_is_said(data: bytes) -> None:
    with pytest.raises(BadAssembly):
        Assembly(data)
    with pytest.raises(BadAssembly):
        lines_of(data)


@pytest.mark.parametrize("damaged", [PROGRAM, SYMBOLS])
def test_damaged_files_are_no_crash(damaged: Path, tmp_path: Path) -> None:
    chance = random.Random(0)
    for path in (PROGRAM, SYMBOLS):
        shutil.copy(path, tmp_path)
    whole = damaged.read_bytes()
    for _ in range(100):
        data = bytearray(whole[: chance.choice([len(whole), chance.randrange(len(whole))])])
        for _ in range(chance.randrange(1, 20)):
            if data:
                data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
        (tmp_path / damaged.name).write_bytes(data)
        lines = ManagedLines([tmp_path / "Program.exe"])
        for caller in ("Work.Pipeline.Wait/1", "Work.Pipeline.Both/0"):
            found = lines.of_call(caller, SYNCHRONIZE, None)
            assert found is None or found[0] == "Program.exe"


def mdb(program: bytes, sources: tuple[bytes, ...] = (b"/src/a.cs", b"/src/b.cs")) -> bytes:
    """Symbols of mono of the method 1: a line a step of -1 to 12, opcodes from 9 on."""
    at, table, names = 0x100, b"", b""
    for source in sources:
        table += struct.pack("<II", 1, at + 8 * len(sources) + len(names))
        names += bytes([len(source)]) + source
    methods = at + len(table) + len(names)
    data = bytearray(at)
    struct.pack_into("<Q", data, 0, 0x45E82623FD7FA614)
    struct.pack_into("<iixxxxii", data, 0x38, len(sources), at, 1, methods)
    struct.pack_into("<iii", data, 0x60, -1, 14, 9)
    return bytes(data) + table + names + struct.pack("<III", 0x06000001, 0, methods + 12) + program


END = bytes([0, 1, 1])
COPY, FURTHER, LINE, SOURCE, FAR = 1, 2, 3, 4, 8


@pytest.mark.parametrize(
    ("program", "points"),
    [
        ([LINE, 40, COPY, FURTHER, 5, LINE, 2], [(0, "/src/a.cs", 41), (5, "/src/a.cs", 43)]),  # the rest at the end
        ([LINE, 40, COPY], [(0, "/src/a.cs", 41)]),
        ([LINE, 0x80, 2, COPY], [(0, "/src/a.cs", 257)]),  # in two bytes
        ([LINE, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, COPY], [(0, "/src/a.cs", 0)]),  # -1 in five
        ([9 + 14 * 3 + 2, 9], [(3, "/src/a.cs", 2), (3, "/src/a.cs", 1)]),  # place and line in one
        ([SOURCE, 2, COPY, SOURCE, 3, COPY], [(0, "/src/b.cs", 1), (0, "", 0)]),
        ([FAR, COPY], [(17, "/src/a.cs", 1)]),
        ([0, 1, 0x40, COPY, 0, 1, 0x40, COPY], [(0, "/src/a.cs", 0), (0, "/src/a.cs", 1)]),  # hidden, and shown again
    ],
)
def test_a_file_of_mono_is_read(program: list[int], points: list[tuple[int, str, int]]) -> None:
    numbers = bytes(each & 0xFF for each in program)
    assert lines_of(mdb(numbers + END))(1) == [Point(*each) for each in points]


def test_what_mono_does_not_write_is_no_file_of_symbols() -> None:
    with pytest.raises(BadAssembly):
        lines_of(mdb(bytes([5]) + END))(1)


def test_columns_go_back_with_a_further_line() -> None:
    """Lines and columns of an entry are differences: those of columns have a sign if it is of several lines."""
    sequence = bytes([0x11, 0, 0, 5, 41, 9, 7, 1, 0x7D, 0, 0, 3, 0, 0xBF, 4, 4, 0])
    assert [(point.offset, point.line) for point in lines_of(portable_pdb(sequence))(1)] == [(0, 41), (7, 41), (10, 43)]


def test_a_native_library_among_the_assemblies_is_passed_over(tmp_path: Path) -> None:
    native = tmp_path / "native.dll"
    native.write_bytes(b"MZ" + bytes(200))
    lines = ManagedLines([tmp_path / "gone.dll", native, tmp_path / "text.txt", PROGRAM])
    assert lines.of_call("Work.Pipeline.Wait/1", SYNCHRONIZE, None) == ("Program.exe", (FILE, 45))
    assert list(lines.without_symbols) == []


def test_assemblies_without_symbols_are_named_once(tmp_path: Path) -> None:
    copy = Path(shutil.copy(PROGRAM, tmp_path))
    lines = ManagedLines([copy])
    for _ in range(2):
        lines.of_call("Work.Pipeline.Wait/1", SYNCHRONIZE, None)
    assert list(lines.without_symbols) == ["Program.exe"]


def test_a_portable_pdb_comes_before_monos_file(tmp_path: Path) -> None:
    """Of a file that is none, the other is read."""
    shutil.copy(PROGRAM, tmp_path)
    shutil.copy(SYMBOLS, tmp_path)
    (tmp_path / "Program.pdb").write_bytes(b"Microsoft C/C++ MSF 7.00")
    lines = ManagedLines([tmp_path / "Program.exe"])
    assert lines.of_call("Work.Pipeline.Wait/1", SYNCHRONIZE, None) == ("Program.exe", (FILE, 45))


@pytest.mark.parametrize("at", [0x38, 0x40, 0x44, 0x60, 0x64, 0x68])
def test_a_header_of_mono_that_cannot_be_is_none(at: int) -> None:
    data = bytearray(mdb(bytes([LINE, 40, COPY]) + END))
    for value in (0, -1, 255, 256, 0x7FFFFFFF):
        struct.pack_into("<i", data, at, value)
        try:
            points = lines_of(bytes(data))(1)
        except BadAssembly:
            continue
        assert len(points) <= 2


@pytest.mark.parametrize(
    ("line_range", "opcode_base", "known"),
    [(1, 1, True), (0, 9, False), (1, 0, False), (1, 255, True), (1, 256, False)],
)
def test_the_opcodes_of_mono_begin_within_a_byte(line_range: int, opcode_base: int, known: bool) -> None:
    data = bytearray(mdb(END))
    struct.pack_into("<ii", data, 0x64, line_range, opcode_base)
    if known:
        assert lines_of(bytes(data))(1) == []
    else:
        with pytest.raises(BadAssembly):
            lines_of(bytes(data))(1)


def test_the_file_of_a_portable_pdb_is_that_of_the_method_or_of_its_first_line() -> None:
    data = bytearray(portable_pdb(bytes([0x11, 2, 0, 0, 5, 41, 9])))
    at = data.rindex(struct.pack("<H", 1), 0, data.index(b"src"))
    struct.pack_into("<H", data, at, 0)
    assert lines_of(bytes(data))(1) == [Point(0, "/src/b.cs", 41)]
