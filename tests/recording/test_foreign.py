"""Recordings that somebody else made: what they name is not shown, not waited for and not followed."""

from __future__ import annotations

import os
import struct
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.catalog import Kind
from cuvet.cli import main
from cuvet.recording.symbols import ElfSymbols
from cuvet.regular import open_regular, read_regular

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

CONTEXT, STREAM = 0xC000, 0x5000
SECRET = "hunter2 = cudaStreamSynchronize(stream)"
Analyze = Callable[..., str]


def recorded(directory: Path, file: str, line: int = 1, module: str = "") -> Path:
    """A recording with a finding at a line of a file, called from a module."""
    directory.mkdir(mode=0o700, parents=True)
    records = (
        (w.module(0x1000, 0x9000, 0x1000, module) if module else b"")
        + w.python_code(1, file, "main")
        + w.stack(1, (0x2000,), [(1, line)])
        + w.call("cuInit", [0], number=1, entered=1, context=0)
        + w.call("cuDevicePrimaryCtxRetain", [1, 0], number=2, entered=20, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
        + w.call("cuStreamCreate", [1, 0], number=3, entered=40, context=CONTEXT, outputs=[(0, Kind.STREAM, 1, STREAM)])
        + w.call("cuStreamDestroy", [STREAM], number=4, entered=60, context=CONTEXT,
                 objects=[(0, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
        + w.call("cuStreamSynchronize", [STREAM], number=5, entered=80, context=CONTEXT, stack=1, status=400,
                 flags=w.ORDER | w.SUSPECT | w.FAILED, objects=[(0, Kind.STREAM, 2, 1, STREAM, CONTEXT)])
    )  # fmt: skip
    w.write(directory, [w.chunk(records)])
    return directory


@pytest.fixture
def analyze(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Analyze:
    """Runs ``cuvet analyze`` in an empty directory, and gives what it says."""
    (tmp_path / "work").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(*arguments: object) -> str:
        assert main(["analyze", *map(str, arguments)]) == 0
        said = "".join(capfd.readouterr())
        assert "stream-use-after-destroy" in said
        return said

    return run


def source(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{SECRET}\n")
    return str(path)


def test_sources_outside_the_working_directory_are_not_shown(tmp_path: Path, analyze: Analyze) -> None:
    said = analyze(recorded(tmp_path / "r", source(tmp_path / "elsewhere/key.py")))
    assert "hunter2" not in said
    assert f"sources: lines of 1 file are not shown, since only source files below {tmp_path}/work are read" in said


def test_sources_below_the_working_directory_are_shown(tmp_path: Path, analyze: Analyze) -> None:
    said = analyze(recorded(tmp_path / "r", source(tmp_path / "work/sub/train.py")))
    assert f"1 | {SECRET}\n" in said
    assert "sources:" not in said


def test_a_source_root_is_chosen_instead_of_the_working_directory(tmp_path: Path, analyze: Analyze) -> None:
    recording = recorded(tmp_path / "r", source(tmp_path / "elsewhere/train.py"))
    assert SECRET in analyze("--source-root", tmp_path / "other", "--source-root", tmp_path / "elsewhere", recording)
    inside = recorded(tmp_path / "s", source(tmp_path / "work/train.py"))
    assert SECRET not in analyze("--source-root", tmp_path / "other", inside)


def test_only_source_files_are_shown(tmp_path: Path, analyze: Analyze) -> None:
    assert "hunter2" not in analyze(recorded(tmp_path / "r", source(tmp_path / "work/.ssh/id_rsa")))


def test_a_link_does_not_lead_out_of_the_root(tmp_path: Path, analyze: Analyze) -> None:
    source(tmp_path / "elsewhere/key.py")
    (tmp_path / "work/link.py").symlink_to(tmp_path / "elsewhere/key.py")
    (tmp_path / "work/directory").symlink_to(tmp_path / "elsewhere")
    assert "hunter2" not in analyze(recorded(tmp_path / "r", str(tmp_path / "work/link.py")))
    assert "hunter2" not in analyze(recorded(tmp_path / "s", str(tmp_path / "work/directory/key.py")))
    assert "hunter2" not in analyze(recorded(tmp_path / "t", str(tmp_path / "work/../elsewhere/key.py")))


def test_own_recordings_show_any_source(tmp_path: Path, analyze: Analyze) -> None:
    own = recorded(tmp_path / "state/cuvet/20260101-000000-1", source(tmp_path / "elsewhere/train.py"))
    assert SECRET in analyze(own)


def test_what_leads_to_a_recording_elsewhere_is_no_own_one(tmp_path: Path, analyze: Analyze) -> None:
    foreign = recorded(tmp_path / "r", source(tmp_path / "elsewhere/key.py"))
    (tmp_path / "state/cuvet").mkdir(parents=True)
    (tmp_path / "state/cuvet/link").symlink_to(foreign)
    assert "hunter2" not in analyze(tmp_path / "state/cuvet/link")
    shared = recorded(tmp_path / "state/cuvet/shared", source(tmp_path / "elsewhere/key.py"))
    shared.chmod(0o777)
    assert "hunter2" not in analyze(shared)
    assert "hunter2" not in analyze(recorded(tmp_path / "state/cuvet/shared/below", str(tmp_path / "elsewhere/key.py")))


def test_a_source_root_that_is_none_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "--source-root", str(tmp_path / "absent"), str(tmp_path)]) == 2
    assert capfd.readouterr().err == f"cuvet: --source-root {tmp_path}/absent: no such directory\n"


@pytest.mark.parametrize("name", ["/proc/self/environ", "/proc/thread-self/status", "/sys/kernel/notes"])
def test_what_the_kernel_makes_up_is_never_shown(tmp_path: Path, analyze: Analyze, name: str) -> None:
    own = recorded(tmp_path / "state/cuvet/20260101-000000-1", name, module=name)
    assert "1 | " not in analyze(own)


def test_a_fifo_is_not_waited_for_and_a_device_not_opened(tmp_path: Path, analyze: Analyze) -> None:
    os.mkfifo(tmp_path / "state.py")
    own = recorded(tmp_path / "state/cuvet/one", str(tmp_path / "state.py"), module=str(tmp_path / "state.py"))
    assert "1 | " not in analyze(own)
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    own = recorded(tmp_path / "state/cuvet/two", str(tmp_path / "zero.py"), module="/dev/zero")
    assert "1 | " not in analyze(own)


@pytest.mark.parametrize("name", ["meta.json", "driver.log", "cudnn.log"])
def test_what_lies_beside_the_recording_is_a_file_or_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    directory = recorded(tmp_path / "r", "a.py")
    (directory / name).symlink_to("/dev/zero")
    code = main(["analyze", str(directory)])
    if name == "meta.json":
        assert (code, capfd.readouterr().err) == (2, f"cuvet: {directory}/meta.json: not a regular file\n")
    (directory / name).unlink()
    os.mkfifo(directory / name)
    assert main(["analyze", str(directory)]) == code


@pytest.mark.parametrize(
    "data", [b'{"argv": ["\xff"]}', b"{", b"[]", b'{"argv": 1}', b"[" * 100_000, b'{"x":' + b"[" * 100_000]
)
def test_a_meta_json_that_is_none_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str], data: bytes) -> None:
    directory = recorded(tmp_path / "r", "a.py")
    (directory / "meta.json").write_bytes(data)
    assert main(["analyze", str(directory)]) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"cuvet: {directory}/meta.json: ")
    assert said.count("\n") == 1


def test_names_beside_a_recording_that_are_none_are_passed_over(tmp_path: Path) -> None:
    directory = recorded(tmp_path / "r", "a.py")
    (directory / "1000-1.names").write_bytes(b'{"8191": {"function": "\xff"}}')
    assert main(["analyze", str(directory)]) == 0


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "missing"])
def test_without_meta_json_the_device_is_not_known(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], empty: bool
) -> None:
    directory = recorded(tmp_path / "r", "a.py")
    (directory / "meta.json").unlink(missing_ok=True)
    if empty:
        (directory / "meta.json").touch()
    assert main(["analyze", str(directory)]) == 0
    said = capfd.readouterr().out
    assert "device: not known, since the recording has no meta.json that says it\n" in said
    assert "real" not in said


def test_damaged_recordings_alone_are_a_mistake(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    directory = recorded(tmp_path / "r", "a.py")
    (file,) = directory.glob("*.cuvet")
    os.truncate(file, 100)
    assert main(["analyze", str(directory)]) == 2
    assert capfd.readouterr().err == f"cuvet: {file}: byte 100: the file ends within its header\n"


def test_an_endless_meta_json_is_not_read_to_its_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    directory = recorded(tmp_path / "r", "a.py")
    (directory / "meta.json").touch()
    os.truncate(directory / "meta.json", 1 << 40)
    assert main(["analyze", str(directory)]) == 2
    assert capfd.readouterr().err == f"cuvet: {directory}/meta.json: larger than any that cuvet writes\n"


@pytest.mark.parametrize("path", ["/proc/kmsg", "/proc/self/mem", "/dev/null", "/", "/sys/power/state", "a\0b"])
def test_what_is_no_ordinary_file_is_not_opened(path: str) -> None:
    with pytest.raises(OSError, match=r"not a regular file|Is a directory|null|No such file"):
        open_regular(path)


def test_an_ordinary_file_is_read_as_far_as_asked(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("abc")
    (tmp_path / "b").symlink_to("a")
    assert read_regular(tmp_path / "b", 2) == b"ab"
    assert read_regular(tmp_path / "a", 9, follow=False) == b"abc"
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path / "b", 2, follow=False)


def test_a_module_that_is_no_library_has_no_names(tmp_path: Path) -> None:
    for name, data in (("text", b"abc"), ("cut", b"\x7fELF\2\1"), ("zeros", b"\x7fELF\2\1".ljust(4096, b"\0"))):
        (tmp_path / name).write_bytes(data)
        assert ElfSymbols(str(tmp_path / name), "").function(0x10).function == f"{name}+0x10"


def test_a_note_that_is_a_hole_of_a_terabyte_is_not_read(tmp_path: Path) -> None:
    """Of the build id, which is looked at before it is known whether the file is the recorded one."""
    names, huge, file = b"\0.note.gnu.build-id\0.shstrtab\0", 1 << 40, tmp_path / "sparse.so"
    section, names_at = struct.Struct("<IIQQQQIIQQ"), 64 + 3 * 64
    rows = bytes(64) + section.pack(1, 7, 0, 0, 4096, huge, 0, 0, 4, 0)
    rows += section.pack(names.index(b".shstrtab"), 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 3, 2)
    file.write_bytes(header + rows + names)
    with file.open("r+b") as opened:
        opened.truncate(4096 + huge)
    tracemalloc.start()
    try:
        assert ElfSymbols(str(file), "ab" * 20).function(0x10).function == "sparse.so+0x10"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
