"""The recording of a program that goes on and on is shortened while it runs, and the report stays the same."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cuvet.analysis import Analysis, Meta, analyze
from cuvet.analysis.shortening import shorten
from cuvet.launch import environment
from cuvet.launch.bound import bytes_of
from cuvet.recording import Recording
from cuvet.recording.layout import CHUNK_BYTES, SHORTENED, VERSION, ChunkKind

BOUND = 10 << 16
OBJECTS = 3000
"""Made and ended in a round: a sixth of the bound."""
LIMIT = str(2 * BOUND)
"""Of what a recording takes on disk: its length may be more."""
REFUSED = {"NULL_DRIVER_FAIL": "cuStreamSynchronize=400"}
SAID = ["stream-use-after-destroy", *["exit-leak"] * 4]
"""What stays is made in two lines, each time by two callers."""


class Churn:
    """The program; each ``round`` makes and ends objects."""

    def __init__(self, process: subprocess.Popen[bytes], trace: Path) -> None:
        self.process = process
        self.trace = trace

    def round(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"round\n"

    @property
    def path(self) -> Path:
        (path,) = self.trace.glob("*.cuvet")
        return path


@contextmanager
def churning(program, null_driver: Path, trace: Path, **variables: str) -> Iterator[Churn]:
    """Nobody follows it."""
    trace.mkdir()
    variables = environment.for_program(
        {**os.environ, "LD_LIBRARY_PATH": str(null_driver), **REFUSED, **variables},
        trace,
        record="lifecycle",
        driver=str(null_driver / "libcuda.so.1"),
        device=None,
        links=trace,
    )
    command = [program("churn", "-pthread"), str(OBJECTS), "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=variables, **pipes) as process:
        yield Churn(process, trace)


def what_is_said(report: object) -> dict[str, Any]:
    """But for the hints, and for times: they are more exact when the clock was looked at for longer."""

    def without_times(part: object) -> object:
        if isinstance(part, dict):
            return {name: without_times(each) for name, each in part.items() if name not in ("time_ns", "peak_ns")}
        return [without_times(each) for each in part] if isinstance(part, list) else part

    said = without_times(msgspec.json.decode(msgspec.json.encode(report)))
    assert isinstance(said, dict)
    return said | {"hints": []}


def follow(churn: Churn, rounds: int) -> Analysis:
    """As ``cuvet run`` does, but that it waits."""
    analysis, most = Analysis(churn.trace), BOUND
    for _ in range(rounds):
        churn.round()
        analysis.advance(running=True)
        (process,) = analysis.processes()
        assert bytes_of(churn.path) < 2 * BOUND
        if bytes_of(churn.path) > most:
            shorten(churn.path, process.recording.newest_ticks, BOUND)
            most = max(BOUND, bytes_of(churn.path) + BOUND // 2)
    return analysis


def test_what_it_takes_on_disk_is_bounded_and_the_report_is_the_same(
    program, null_driver: Path, tmp_path: Path
) -> None:
    with churning(program, null_driver, tmp_path / "trace", CUVET_LIMIT=LIMIT) as churn:
        analysis = follow(churn, 15)
    recording = Recording(churn.path)
    assert int(recording.header["version"]) == SHORTENED
    assert churn.path.stat().st_size > 2 * BOUND
    said = what_is_said(analysis.report(Meta(), leaks=True, memory=True))
    assert said == what_is_said(analyze([churn.trace], leaks=True, memory=True)) | {"program": said["program"]}
    assert said["stats"]["allocations"] == 15 * OBJECTS + 3 * 16
    assert said["not_checked"] == []
    (stale, *leaks) = said["findings"]
    assert stale["name"] == "stream-use-after-destroy"
    sites = [stale["site"], stale["objects"][0]["created"], stale["objects"][0]["destroyed"]]
    assert {each["frames"][0]["function"] for each in sites} == {"mistake"}
    assert {each["name"] for each in leaks} == {"exit-leak"}
    assert {each["site"]["frames"][0]["function"] for each in leaks} == {"stay"}


def test_without_a_bound_the_limit_is_reached(program, null_driver: Path, tmp_path: Path) -> None:
    with churning(program, null_driver, tmp_path / "trace", CUVET_LIMIT=LIMIT) as churn:
        for _ in range(15):
            churn.round()
    (sentence,) = analyze([churn.trace]).not_checked
    assert "had reached its size limit" in sentence


def test_a_program_that_is_killed_leaves_a_recording_that_can_be_read(
    program, null_driver: Path, tmp_path: Path
) -> None:
    with churning(program, null_driver, tmp_path / "trace") as churn:
        analysis = follow(churn, 9)
        churn.process.kill()
    said = what_is_said(analysis.report(Meta(), leaks=True))
    assert said == what_is_said(analyze([churn.trace], leaks=True)) | {"program": said["program"]}
    assert said["not_checked"] == []


def test_a_chunk_is_left_when_its_thread_goes_on(program, null_driver: Path, tmp_path: Path) -> None:
    with churning(program, null_driver, tmp_path / "trace") as churn:
        for _ in range(6):
            churn.round()
        data = churn.path.read_bytes()
    newest: dict[int, int] = {}
    left: dict[int, int] = {}
    for number, at in enumerate(range(4096, len(data) - 64, CHUNK_BYTES)):
        kind, thread, ticks = (
            int.from_bytes(data[at + first : at + last], "little") for first, last in ((4, 8), (8, 12), (16, 24))
        )
        if kind == ChunkKind.RECORDS:
            newest[thread], left[number] = number, ticks
    assert len(left) > 6
    assert all(ticks for number, ticks in left.items() if number not in newest.values())
    main = newest[churn.process.pid]
    assert left[main] == 0


def test_cuvet_run_shortens_it(cuvet, program) -> None:
    churn = program("churn", "-pthread")
    ran = cuvet.run(["--bound", "1MiB", "--leaks"], [churn, 1000, 1, "until"], **REFUSED)
    assert ran.code == 0, ran.stderr
    assert ran.rules == SAID
    assert any("were judged and left out of its recording" in hint for hint in ran.report.hints)
    assert ran.report.not_checked == ()
    again = msgspec.json.decode(cuvet("analyze", "--leaks", "--format", "json", ran.trace).stdout)
    assert what_is_said(ran.report) == what_is_said(again)
    assert again["hints"] == list(ran.report.hints)
    assert {each.suffix for each in ran.trace.iterdir() if each.is_file()} == {".cuvet", ".kept", ".json"}


@pytest.mark.parametrize(("options", "told"), [(["--bound", "1MiB"], True), (["--bound", "off"], False), ([], False)])
def test_a_bound_that_could_not_be_held_is_told(cuvet, program, options: list[str], told: bool) -> None:
    """All of these calls are needed to judge the recording again."""
    ran = cuvet.run(options, [program("hoard"), 80_000])
    assert ran.code == 0
    (path,) = ran.trace.glob("*.cuvet")
    assert bytes_of(path) > 9 << 17
    assert (int(Recording(path).header["version"]), list(ran.trace.glob("*.kept*"))) == (VERSION, [])
    hints = [hint for hint in ran.report.hints if "more than --bound 1 MiB" in hint]
    assert [hint.split(" takes ")[0] for hint in hints] == [
        "the recording of process " + path.name.split("-")[0]
    ] * told
    assert msgspec.json.decode(cuvet("analyze", "--format", "json", ran.trace).stdout)["hints"] == list(
        ran.report.hints
    )


@pytest.mark.parametrize("options", [["--bound", "off"], []])
def test_below_the_bound_nothing_is_done(cuvet, program, options: list[str]) -> None:
    ran = cuvet.run(options, [program("churn", "-pthread"), 100_000, 1], stdin="\n")
    assert ran.code == 0
    (path,) = ran.trace.glob("*.cuvet")
    assert path.stat().st_size > 1 << 20
    assert path.stat().st_blocks * 512 >= path.stat().st_size
    recording = Recording(path)
    assert (int(recording.header["version"]), int(recording.header["freed"])) == (VERSION, 0)
    assert not list(ran.trace.glob("*.kept*"))
    assert ran.report.hints == ()


def test_without_its_launcher_the_program_goes_on(cuvet, program, tmp_path: Path) -> None:
    command = cuvet.command(
        "run", "--bound", "1MiB", "--trace", tmp_path / "trace", "--", program("churn", "-pthread"), OBJECTS, 1
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**cuvet.environment, **REFUSED}, **pipes) as launcher:
        churn = Churn(launcher, tmp_path / "trace")
        for _ in range(6):
            churn.round()
        os.kill(launcher.pid, signal.SIGKILL)
        churn.round()
        launcher.stdin.close()
        assert launcher.stdout.read() == b""
    said = what_is_said(analyze([churn.trace], leaks=True))
    assert said["not_checked"] == []
    assert said["stats"]["allocations"] == 7 * OBJECTS + 3 * 8
    assert [each["name"] for each in said["findings"]] == SAID


@pytest.mark.parametrize("size", ["1KiB", "much", "0", "-1", "2TiB", "9" * 20])
def test_a_bound_that_is_none_is_one_line(cuvet, size: str) -> None:
    done = cuvet("run", f"--bound={size}", "--", "true")
    assert done.returncode == 2
    assert f"{size} is not off, nor a size from 1MiB to 1TiB" in done.stderr
