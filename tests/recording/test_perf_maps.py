"""Perf maps, and the names that are kept of them. The lines are mono's 6.8, .NET Core's 3.1 and CPython's 3.12."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cuvet.recording import Recording, generated_code
from cuvet.recording.generated_code import CodeName, GeneratedCode, Run, _parse, advice, code_name
from cuvet.recording.records import Module

sys.path.insert(0, str(Path(__file__).parent))
from writing import header


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Pipeline:Flush ()", CodeName(function="Pipeline.Flush", language="c#", parameters=0)),
        ("A.B.Outer/Inner:.ctor (int,string)", CodeName(function="A.B.Outer.Inner..ctor", language="c#", parameters=2)),
        (
            "(wrapper managed-to-native) Cuda:cuStreamCreate (intptr&,uint)",
            CodeName(function="Cuda.cuStreamCreate", language="c#", stub=True, parameters=2),
        ),
        (
            "instance int32 [Stale] Pipeline::Flush()[QuickJitted]",
            CodeName(function="Pipeline.Flush", module="Stale", language="c#", parameters=0),
        ),
        (
            "class System.Threading.Tasks.Task`1<!!0>[] [Lib.Core] Lib.List`1[System.__Canon]::Run(int32[],bool)[Tier1]",
            CodeName(function="Lib.List`1[System.__Canon].Run", module="Lib.Core", language="c#", parameters=2),
        ),
        (
            "int32 [Stale] dynamicClass::IL_STUB_PInvoke(native int&,uint32)[Optimized]",
            CodeName(function="dynamicClass.IL_STUB_PInvoke", module="Stale", language="c#", stub=True, parameters=2),
        ),
        ("py::load:/home/me/train.py", CodeName(function="py::load:/home/me/train.py", stub=True)),
        ("LazyCompile:*run /home/me/a.js:12", CodeName(function="LazyCompile:*run /home/me/a.js:12")),
        ("jit_trampoline", CodeName(function="jit_trampoline")),
        ("", CodeName(function="")),
    ],
)
def test_names_are_written_as_their_language_writes_them(line: str, name: CodeName) -> None:
    assert code_name(line) == name


def test_what_is_no_entry_is_passed_over() -> None:
    lines = [
        b"10 8 f ()",
        b"",
        b"zz 8 g",
        b"20 8",
        b"30 0 h",
        b"-40 8 i",
        b"5" * 5000 + b" 1 j",
        b"ffffffffffffffff 1 k",
    ]
    found = _parse(b"\n".join([*lines, b"0x50 0x8 " + b"n" * 5000]))
    assert (found.starts.tolist(), found.ends.tolist()) == ([0x10, 0x50], [0x18, 0x58])
    assert [len(name) for name in found.names] == [4, 1024]


def recording(directory: Path) -> Recording:
    path = directory / "1000-1.cuvet"
    path.write_bytes(header())
    return Recording(path)


def test_of_another_run_the_kept_names_are_read(tmp_path: Path) -> None:
    (tmp_path / "1000-1.names").write_text('{"4660": {"function": "Pipeline.Flush", "language": "c#"}}')
    generated = GeneratedCode(recording(tmp_path), None)
    assert generated.at(0x1234) == CodeName(function="Pipeline.Flush", language="c#")
    assert generated.at(0x1235) is None


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The perf map of the process of ``recording``."""
    monkeypatch.setattr(generated_code, "DIRECTORY", str(tmp_path))
    return tmp_path / "perf-1000.map"


def test_a_perf_map_is_read_as_it_grows_line_by_line(tmp_path: Path, written: Path) -> None:
    generated = GeneratedCode(recording(tmp_path), Run(0, ()))
    assert generated.at(0x1004) is None
    written.write_text("1000 10 f\n2000 10 ha")
    assert (generated.at(0x1004), generated.at(0x2000)) == (CodeName(function="f"), None)
    with written.open("a") as file:
        file.write("lf\n2000 8 other\n")
    assert [generated.at(at) for at in (0x2000, 0x200F)] == [CodeName(function="other"), CodeName(function="half")]
    assert generated.at(0x2010) is None
    assert generated.at(0x0FFF) is None


def test_the_names_that_were_found_are_kept(tmp_path: Path, written: Path) -> None:
    written.write_text("1000 10 f\n2000 10 g\n")
    generated = GeneratedCode(recording(tmp_path), Run(0, ()))
    generated.at(0x1004)
    generated.keep()
    assert generated.kept.stat().st_mode & 0o777 == 0o600
    assert GeneratedCode(recording(tmp_path), None).at(0x1004) == CodeName(function="f")
    assert GeneratedCode(recording(tmp_path), None).at(0x2000) is None


def test_of_code_without_names_nothing_is_kept(tmp_path: Path, written: Path) -> None:
    generated = GeneratedCode(recording(tmp_path), Run(0, ()))
    generated.at(0x1004)
    generated.keep()
    assert not generated.kept.exists()


def test_a_perf_map_that_may_be_anothers_is_not_read(tmp_path: Path, written: Path) -> None:
    """A link, and a file that was written before the run began."""
    (tmp_path / "elsewhere").write_text("1000 10 f\n")
    written.symlink_to("elsewhere")
    assert GeneratedCode(recording(tmp_path), Run(0, ())).at(0x1004) is None
    written.unlink()
    (tmp_path / "elsewhere").rename(written)
    os.utime(written, ns=(10**18, 10**18))
    assert GeneratedCode(recording(tmp_path), Run(10**18 + 10**9 + 1, ())).at(0x1004) is None
    assert GeneratedCode(recording(tmp_path), Run(10**18, ())).at(0x1004) == CodeName(function="f")


def test_a_perf_map_of_another_user_and_what_is_no_file_are_not_read(
    tmp_path: Path, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written.write_text("1000 10 f\n")
    user = os.geteuid()
    monkeypatch.setattr(generated_code.os, "geteuid", lambda: user + 1)
    assert GeneratedCode(recording(tmp_path), Run(0, ())).at(0x1004) is None
    monkeypatch.undo()
    monkeypatch.setattr(generated_code, "DIRECTORY", str(tmp_path))
    written.unlink()
    written.mkdir()
    assert GeneratedCode(recording(tmp_path), Run(0, ())).at(0x1004) is None


def test_addresses_have_up_to_sixteen_digits() -> None:
    digits = b"000000000000%s"
    lines = [b"0x" + digits % b"1000 8 f", b"0" + digits % b"2000 00 8 g", b"000" + digits % b"3000 8 long"]
    found = _parse(b"\n".join([*lines, b"4000 0x" + digits % b"0008 h", b"5000 000" + digits % b"0008 i"]))
    assert [name for name in found.names if name in (b"f", b"h", b"long", b"i")] == [b"f", b"h"]


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"a": {}}', b'{"1": 5}', b"[" * 100_000, b"\xff"])
def test_kept_names_that_are_damaged_are_none(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "1000-1.names").write_bytes(kept)
    assert GeneratedCode(recording(tmp_path), None).at(1) is None


def test_kept_names_that_are_no_file_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "1000-1.names")
    assert GeneratedCode(recording(tmp_path), None).at(1) is None


@pytest.mark.parametrize(
    ("file", "variable"),
    [
        ("/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.1/libcoreclr.so", "DOTNET_PerfMapEnabled=1"),
        ("/usr/bin/mono-sgen", "MONO_ENV_OPTIONS=--jitmap"),
        ("/usr/lib/libmonosgen-2.0.so.1", "MONO_ENV_OPTIONS=--jitmap"),
        ("/usr/bin/node", "--perf-basic-prof"),
    ],
)
def test_each_runtime_has_its_own_way(file: str, variable: str) -> None:
    assert variable in (advice([Module(0, 1, 0, "", "/lib/libc.so.6"), Module(1, 2, 0, "", file)]) or "")


def test_of_other_runtimes_nothing_is_said() -> None:
    assert advice([Module(0, 1, 0, "", "/usr/bin/python3.12"), Module(1, 2, 0, "", "/lib/libmonocle.so.1")]) is None
