"""``--trace`` and ``--output`` of several processes that one command line starts."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.launch import trace
from cuvet.launch.names import expanded

REAL = ("--device", "real")


@pytest.mark.parametrize(
    ("name", "environment", "expected"),
    [
        ("rep.json", {}, "rep.json"),
        ("rep.%p.json", {}, "rep.{pid}.json"),
        ("%h/rep", {}, "{host}/rep"),
        ("100%%.%%p", {}, "100%.%p"),
        ("rep.%r", {"PMI_RANK": "3"}, "rep.3"),
        ("rep.%r", {"SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "2"}, "rep.2"),
        ("rep.%r", {"RANK": "5", "SLURM_PROCID": "0"}, "rep.5"),
        ("rep.%r", {"RANK": "captain", "PMIX_RANK": "1"}, "rep.1"),
        ("%q{JOB}/%q{JOB}.%r", {"JOB": "a%p", "RANK": "1"}, "a%p/a%p.1"),
    ],
)
def test_expanded(name: str, environment: dict[str, str], expected: str) -> None:
    assert expanded(Path(name), "--output", environment) == Path(
        expected.format(pid=os.getpid(), host=socket.gethostname())
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "rep.%r",
            "--trace rep.%r: %r is the rank, and none of RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID, "
            "JOB_COMPLETION_INDEX is set",
        ),
        ("%d", "--trace %d: %d is not known: use %p, %r, %h or %q{NAME}, or %% for a percent sign"),
        ("rep%", "--trace rep%: % is not known"),
        ("%q{JOB}", "--trace %q{JOB}: %q{JOB}: no environment variable is called JOB"),
        ("%q{JOB", "--trace %q{JOB: %q is not known"),
    ],
)
def test_what_cannot_be_expanded_is_said(name: str, message: str) -> None:
    with pytest.raises(CuvetError) as error:
        expanded(Path(name), "--trace", {})
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("rank", "shown"),
    [("1" * 26, "1" * 26), ("1" * 1000, f"{'1' * 30}…"), ("-1", "-1"), ("one\n\x1b[31m", r"one\n\x1b[31m")],
)
def test_a_rank_that_is_none_is_shown(rank: str, shown: str) -> None:
    with pytest.raises(CuvetError) as error:
        expanded(Path("rep.%r"), "--trace", {"RANK": rank, "PMI_RANK": "captain"})
    said = f"--trace rep.%r: %r is the rank, and RANK is {shown}: no number of at most 9 digits"
    assert str(error.value) == said


def test_processes_of_one_command_line_have_a_recording_and_a_report_each(cuvet, program) -> None:
    command = cuvet.command("run", *REAL, "--trace", "rec.%r", "--output", "rep.%r", "--", program("stale"))
    started = [
        subprocess.Popen(command, cwd=cuvet.tmp_path, env={**cuvet.environment, "PMI_RANK": str(rank)})
        for rank in (0, 1)
    ]
    assert [process.wait() for process in started] == [0, 0]
    for rank in (0, 1):
        assert len(list((cuvet.tmp_path / f"rec.{rank}").glob("*.cuvet"))) == 1
        assert "1 error, " in (cuvet.tmp_path / f"rep.{rank}").read_text()


def test_a_name_that_cannot_be_expanded_is_told_before_the_program_runs(cuvet, tmp_path: Path) -> None:
    done = cuvet("run", *REAL, "--output", "rep.%r", "--", "touch", tmp_path / "ran", RANK="", SLURM_PROCID="")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "ran").exists()


def test_of_two_runs_with_one_trace_only_the_first_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if both saw that the directory is empty."""
    monkeypatch.setattr(Path, "iterdir", lambda path: iter(()))
    assert trace.make(tmp_path / "rec") == tmp_path / "rec"
    with pytest.raises(CuvetError, match=r"rec is not empty: .*--trace DIR.%p or DIR.%r"):
        trace.make(tmp_path / "rec")
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "rec").iterdir()] == ["meta.json"]


def test_runs_that_would_have_one_name_have_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("time.strftime", lambda form: "20260101-120000-4711")
    assert [trace.make(None).name for _ in range(2)] == ["20260101-120000-4711", "20260101-120000-4711-2"]


def test_a_trace_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "rec").write_text("")
    with pytest.raises(CuvetError, match="rec is not a directory"):
        trace.make(tmp_path / "rec")


def test_a_home_that_is_no_whole_path_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for named in ("", "state"):
        monkeypatch.setenv("XDG_STATE_HOME", named)
        assert trace.make(None).parent == tmp_path / ".local/state/cuvet"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert trace.make(None).parent == tmp_path / "state/cuvet"
