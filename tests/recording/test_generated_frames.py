"""Stacks through code that a runtime compiled: names of a perf map, and lines of the assembly in ``managed/``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cuvet import catalog
from cuvet.recording import Recording, generated_code
from cuvet.recording.generated_code import CodeName, GeneratedCode, Run, _parse
from cuvet.recording.sites import Sites

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_symbol_tables import FUNC, elf, table

PROGRAM = Path(__file__).parent / "managed" / "Program.exe"
FILE = "/src/Program.cs"
STUB, WAIT, MAIN, BOTH, FLUSH, CLOSE, UNKNOWN, OTHER, GENERIC = (0x10_0000 + 0x1000 * at for at in range(9))
PERF_MAP = f"""\
{STUB:x} 100 (wrapper managed-to-native) Work.Cuda:cuStreamSynchronize (intptr)
{WAIT:x} 100 Work.Pipeline:Wait (int)
{MAIN:x} 100 Work.Program:Main ()
{BOTH:x} 100 Work.Pipeline:Both ()
{FLUSH:x} 100 Work.Pipeline:Flush (bool)
{CLOSE:x} 100 Work.Pipeline/Inner:Close (Work.Pipeline)
{OTHER:x} 100 native_helper
{GENERIC:x} 100 Elsewhere.Class:Method ()
"""
OWN, CUDA = 0x40_0000, 0x7000_0000
FILES = w.module(OWN, OWN + 0x1000, OWN, "/usr/bin/mono") + w.module(CUDA, CUDA + 0x1000, CUDA, "/usr/lib/libcuda.so.1")
SYNCHRONIZE, DESTROY = catalog.driver()["cuStreamSynchronize"], catalog.driver()["cuStreamDestroy"]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Where the recording is, and the perf map of its process."""
    monkeypatch.setattr(generated_code, "DIRECTORY", str(tmp_path))
    (tmp_path / "perf-1000.map").write_text(PERF_MAP)
    (tmp_path / "rec").mkdir()
    return tmp_path / "rec", tmp_path / "perf-1000.map"


def recording(directory: Path, native: Sequence[int] = (), more: bytes = b"", **fields: object) -> Recording:
    """With one stack of return addresses."""
    stack = w.stack(1, [address + 0x10 for address in native])
    found = Recording(w.write(directory, [w.chunk(FILES + stack + more)], **fields))
    list(found.poll())
    return found


def frames(
    directory: Path,
    native: Sequence[int],
    entry_point: catalog.EntryPoint | None = SYNCHRONIZE,
    program: Path = PROGRAM,
) -> list[tuple[str, str | None, str | None, int | None]]:
    found = recording(directory, native)
    sites = Sites(found, "", GeneratedCode(found, Run(0, ("mono", str(program)))))
    if entry_point is not None:
        sites.note(1, entry_point)
        sites.note(1, DESTROY)  # it is what was called first
    return [(frame.function, frame.module, frame.file, frame.line) for frame in sites.of_stack(1)[1]]


PLACED_WAIT = ("Work.Pipeline.Wait", "Program.exe", FILE, 45)


def of_main(line: int) -> tuple[str, str, str, int]:
    return "Work.Program.Main", "Program.exe", FILE, line


PLACED_MAIN = ("Work.Program.Main", "Program.exe", None, None)
PLACED_CLOSE = ("Work.Pipeline.Inner.Close", "Program.exe", FILE, 20)
OTHER_NAME = CodeName(function="Other.Name", language="c#", parameters=0)
MONO = ("mono+0xf", "/usr/bin/mono", None, None)


def test_frames_of_a_program_of_mono_have_lines(made: tuple[Path, Path]) -> None:
    """The stub between it and the driver is not shown."""
    directory, _ = made
    assert frames(directory, [CUDA, STUB, WAIT, MAIN, OWN]) == [PLACED_WAIT, PLACED_MAIN, MONO]
    assert frames(directory, [STUB, WAIT, MAIN]) == [PLACED_WAIT, PLACED_MAIN]
    assert frames(directory, [WAIT]) == [PLACED_WAIT]
    assert frames(directory, [CLOSE], DESTROY) == [PLACED_CLOSE]


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        ([STUB, WAIT, BOTH, MAIN], [PLACED_WAIT, ("Work.Pipeline.Both", "Program.exe", FILE, 50), of_main(63)]),
        ([STUB, FLUSH], [("Work.Pipeline.Flush", "Program.exe", None, None)]),  # in two places
        ([STUB, CLOSE, MAIN], [("Work.Pipeline.Inner.Close", "Program.exe", None, None), of_main(61)]),
        ([STUB, OTHER, WAIT], [("native_helper", None, None, None), ("Work.Pipeline.Wait", None, None, None)]),
        ([STUB, UNKNOWN, WAIT], [("0x10600f", None, None, None), ("Work.Pipeline.Wait", None, None, None)]),
        ([STUB, GENERIC, WAIT], [("Elsewhere.Class.Method", None, None, None), ("Work.Pipeline.Wait", "Program.exe", None, None)]),
        ([STUB, WAIT, OWN, WAIT], [PLACED_WAIT, MONO, PLACED_WAIT]),
        ([STUB, WAIT, UNKNOWN, MAIN], [PLACED_WAIT, ("0x10600f", None, None, None), ("Work.Program.Main", None, None, None)]),
    ],
)  # fmt: skip
def test_a_frame_has_a_line_if_the_one_within_it_is_known(
    made: tuple[Path, Path], native: list[int], expected: list[tuple[object, ...]]
) -> None:
    assert frames(made[0], native) == expected


def test_without_what_was_called_there_are_no_lines(made: tuple[Path, Path]) -> None:
    directory, _ = made
    assert frames(directory, [STUB, WAIT], None) == [("Work.Pipeline.Wait", "Program.exe", None, None)]
    assert frames(directory, [STUB, WAIT], DESTROY) == [("Work.Pipeline.Wait", "Program.exe", None, None)]


def test_a_frame_of_generated_code_is_placed_once(made: tuple[Path, Path]) -> None:
    """As it was first: the same code may be on stacks of other calls."""
    directory, _ = made
    found = recording(directory)
    generated = GeneratedCode(found, Run(0, (str(PROGRAM),)))
    generated.place([WAIT + 0xF], frozenset({"cuStreamSynchronize"}))
    generated.place([STUB + 0xF, WAIT + 0xF], frozenset({"cuStreamDestroy"}))
    assert generated.at(WAIT + 0xF) == CodeName(
        function="Work.Pipeline.Wait", module="Program.exe", file=FILE, line=45, language="c#", parameters=1
    )


def test_assemblies_without_symbols_are_told(made: tuple[Path, Path], tmp_path: Path) -> None:
    directory, _ = made
    copy = Path(shutil.copy(PROGRAM, tmp_path))
    found = recording(directory)
    generated = GeneratedCode(found, Run(0, (str(copy),)))
    assert generated.hint() is None
    assert "_lines" not in vars(generated)  # and no assembly was looked for
    generated.place([WAIT], frozenset({"cuStreamSynchronize"}))
    assert generated.hint() == "compile Program.exe with symbols (mcs -debug, a .pdb), and frames of it have lines here"
    whole = GeneratedCode(found, Run(0, (str(PROGRAM),)))
    whole.place([WAIT], frozenset({"cuStreamSynchronize"}))
    assert whole.hint() is None


def test_all_generated_code_of_a_process_can_be_looked_up(made: tuple[Path, Path]) -> None:
    """For the names that are kept beside the recording, with which another process reads it."""
    directory, _ = made
    found = recording(directory, [CUDA, STUB, WAIT], w.stack(2, [CLOSE + 0x10]) + w.stack(3, [OWN + 0x10]))
    generated = GeneratedCode(found, Run(0, (str(PROGRAM),)))
    sites = Sites(found, "", generated)
    sites.note(1, SYNCHRONIZE)
    sites.note(2, DESTROY)
    sites.find_generated()
    generated.keep()
    kept = GeneratedCode(found, None)
    assert [kept.at(at + 0xF) for at in (WAIT, CLOSE, MAIN, OWN)] == [
        CodeName(function="Work.Pipeline.Wait", module="Program.exe", file=FILE, line=45, language="c#", parameters=1),
        CodeName(
            function="Work.Pipeline.Inner.Close", module="Program.exe", file=FILE, line=20, language="c#", parameters=1
        ),
        None,
        None,
    ]
    again = Sites(found, "", kept)
    assert [(frame.function, frame.line) for frame in again.of_stack(1)[1]] == [("Work.Pipeline.Wait", 45)]
    before = kept.kept.read_bytes()
    kept.keep()  # it is not written again by who only reads
    kept.place([MAIN], frozenset())
    assert (kept.kept.read_bytes(), kept.at(MAIN), kept.hint()) == (before, None, None)


# Perf maps.


def test_what_was_found_stays(made: tuple[Path, Path]) -> None:
    directory, perf_map = made
    generated = GeneratedCode(recording(directory), Run(0, ()))
    assert generated.at(0x40) is None
    with perf_map.open("a") as file:
        file.write(f"{WAIT:x} 100 Other:Name ()\n40 8 late\n")
    first = GeneratedCode(recording(directory), Run(0, ()))
    assert (first.at(0x40), first.at(WAIT)) == (CodeName(function="late"), OTHER_NAME)
    assert generated.at(0x40) == CodeName(function="late")
    known = generated.at(WAIT)
    assert known is not None
    assert known.function == "Other.Name"
    with perf_map.open("a") as file:
        file.write(f"{WAIT:x} 100 third\n90 8 more\n")
    assert (generated.at(0x90), generated.at(WAIT)) == (CodeName(function="more"), known)


def test_after_exec_the_map_is_of_another_program(made: tuple[Path, Path]) -> None:
    directory, _ = made
    for end, named in ((0, True), (1, True), (2, False)):
        found = GeneratedCode(recording(directory, end=end), Run(0, ()))
        assert (found.at(WAIT) is not None) is named


def test_of_another_process_nothing_is_read(made: tuple[Path, Path]) -> None:
    found = GeneratedCode(recording(made[0]), None)
    assert found.at(WAIT) is None


def test_so_much_of_a_map_is_read(made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    directory, perf_map = made
    assert generated_code.MOST_BYTES == generated_code.MOST_KEPT_BYTES == 64 << 20
    perf_map.write_text("10 8 f\n20 8 g\n30 8 h\n")
    for most, names in ((21, "fgh"), (20, "fg"), (14, "fg"), (13, "f"), (6, "")):
        monkeypatch.setattr(generated_code, "MOST_BYTES", most)
        generated = GeneratedCode(recording(directory), Run(0, ()))
        found = [generated.at(at) for _ in range(2) for at in (0x10, 0x20, 0x30)]
        assert "".join(each.function for each in found if each) == names * 2


def test_entries_are_of_addresses_that_there_are() -> None:
    top = 0xFFFFFFFFFFFFFFFF
    lines = [
        b"0 8 a",
        b"1 8 b",
        b"%x 1 c" % (top - 1),
        b"%x 2 d" % (top - 1),
        b"10 1 e",
        b"10 0 f",
        b"8 ffffffffffffffff g",
    ]
    found = _parse(b"\n".join(lines))
    assert found.names == [b"b", b"c", b"e"]
    assert found.ends.tolist() == [9, top, 0x11]
    spaces = [b"10 8  two spaces", b"20 8 a b c", b"30 8 ", b"40 8"]
    assert _parse(b"\n".join(spaces)).names == [b" two spaces", b"a b c", b""]


def test_so_many_names_are_kept(made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    directory, _ = made
    assert generated_code.MOST_KEPT == 1 << 16
    monkeypatch.setattr(generated_code, "MOST_KEPT", 2)
    generated = GeneratedCode(recording(directory), Run(0, ()))
    for at in (WAIT, MAIN, BOTH):
        generated.at(at)
    generated.keep()
    kept = GeneratedCode(recording(directory), None)
    assert [kept.at(at) is not None for at in (WAIT, MAIN, BOTH)] == [True, True, False]
    size = generated.kept.stat().st_size
    for most, read in ((size, True), (size - 1, False)):
        monkeypatch.setattr(generated_code, "MOST_KEPT_BYTES", most)
        assert (GeneratedCode(recording(directory), None).at(WAIT) is not None) is read
    with pytest.raises(FileExistsError):
        generated.keep()


def test_the_assembly_of_an_executable_is_found(made: tuple[Path, Path], tmp_path: Path) -> None:
    """.NET starts ``Program.dll`` with an executable ``Program``."""
    directory, _ = made
    shutil.copy(PROGRAM, tmp_path / "Program.dll")
    shutil.copy(f"{PROGRAM}.mdb", tmp_path / "Program.dll.mdb")
    found = recording(directory, executable=str(tmp_path / "Program"))
    generated = GeneratedCode(found, Run(0, ()))
    generated.place([WAIT], frozenset({"cuStreamSynchronize"}))
    name = generated.at(WAIT)
    assert name is not None
    assert (name.module, name.line) == ("Program.dll", 45)


# Stacks of code in files.


def test_a_call_at_the_end_of_a_function_is_of_that_function(tmp_path: Path) -> None:
    """Return addresses are behind the call."""
    path = tmp_path / "program"
    rows = [("cudaFree", FUNC, 0x100, 0x10), ("own", FUNC, 0x110, 0x10), ("next", FUNC, 0x120, 0x10)]
    path.write_bytes(elf(table(*rows)))
    more = w.module(0x1000, 0x2000, 0x1000, str(path)) + w.stack(2, [0x1110, 0x1120])
    sites = Sites(recording(tmp_path, more=more), str(path))
    assert (sites.api(2), sites.library(2)) == ("cudaFree", "program")
    assert [frame.function for frame in sites.of_stack(2)[1]] == ["own"]
