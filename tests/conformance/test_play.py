"""Programs are played and recorded, here on the emulated device."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from cuvet.conformance.__main__ import main
from cuvet.conformance.compare import tally
from cuvet.conformance.generate import LEAST_STEPS
from cuvet.conformance.recording import Header, Row, Session, read, write

from .three_endings import CRASHES, ENDS, HANGS

HERE = Path(__file__).parent


def on_emulated_device(tmp_path: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    run = (sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--emulate-crashes", "--output")
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [*run, str(tmp_path / "report.txt"), "--", sys.executable, *argv]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    file = folder / "new.jsonl.zst"
    options = ("--seed", "3", "--programs", "8", "--jobs", "1", "--threads", "2", "--output", str(file))
    ended = on_emulated_device(folder, "-m", "cuvet.conformance", "record", *options)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    return file


def test_programs_are_recorded_call_by_call(recorded: Path) -> None:
    header, sessions = read(recorded)
    found = list(sessions)
    assert header.gpus == ("Emulated device (sm_90)",)
    assert header.capabilities == (90,)
    assert sum(len(session.starts) for session in found) >= 8
    assert sum(len(session.rows) for session in found) >= 8 * LEAST_STEPS
    assert {row.thread for session in found for row in session.rows} == {0, 1}
    created = [row for session in found for row in session.rows if row.name == "cuStreamCreate" and row.status == 0]
    assert created and all(row.outputs[0] > 0 for row in created)


def test_the_model_is_asked_about_every_call(recorded: Path) -> None:
    header, sessions = read(recorded)
    found = list(sessions)
    summary = tally(header, found)
    assert summary.all.calls == sum(len(session.rows) for session in found)
    assert summary.all.programs == sum(len(session.starts) for session in found)


def test_check_prints_figures_and_disagreements(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["check", "--show", "1", str(recorded)])
    printed = capsys.readouterr().out
    assert code in (0, 1)
    assert "Emulated device" in printed
    assert "stream" in printed and "agreement" in printed


def test_a_crash_and_a_hang_end_their_session_only(tmp_path: Path) -> None:
    ended = on_emulated_device(tmp_path, str(HERE / "three_endings.py"))
    sessions = {s.seed: s for s in (msgspec.json.decode(line, type=Session) for line in ended.stdout.splitlines())}
    assert sessions.keys() == {CRASHES, HANGS, ENDS}, ended.stderr
    crashed, hung, whole = sessions[CRASHES], sessions[HANGS], sessions[ENDS]
    assert (crashed.rows[-1].name, crashed.rows[-1].status, crashed.rows[-1].signal) == (
        "cuStreamDestroy",
        None,
        signal.SIGSEGV,
    )
    assert (hung.hung, hung.rows[-1].name) == ("cuStreamSynchronize", "cuLaunchHostFunc")
    assert whole.hung == "" and all(row.status == 0 for row in whole.rows)
    assert (whole.rows[-1].thread, len(whole.starts)) == (1, 2)


HEADER = Header(driver=13000, driver_release="", gpus=("none",), memory_bytes=1, date="2026-01-01")
SESSION = Session(1, (0,), (Row(0, "cuInit", (0,), 0),))


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl.zst"
    write(file, HEADER, [SESSION])
    header, sessions = read(file)
    assert (header, list(sessions)) == (HEADER, [SESSION])


def test_a_recording_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.jsonl.zst"
    file.write_bytes(b"precious")
    assert main(["record", "--output", str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert file.read_bytes() == b"precious"


@pytest.mark.parametrize("content", [b"", b"text", b"\x28\xb5\x2f\xfd"])
def test_what_is_no_recording_is_one_line(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.jsonl.zst"
    file.write_bytes(content)
    assert main(["check", str(file)]) == 2
    error = capsys.readouterr().err
    assert str(file) in error and error.count("\n") == 1


def test_a_truncated_recording_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, shorter = tmp_path / "a.jsonl.zst", tmp_path / "b.jsonl.zst"
    write(file, HEADER, [SESSION] * 100)
    shorter.write_bytes(file.read_bytes()[:-20])
    assert main(["check", str(shorter)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "argv", [[], ["record"], ["check"], ["check", "absent"], ["record", "--jobs", "0", "--output", "x"], ["play"]]
)
def test_mistakes_are_one_line(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.count("\n") == 1
