"""``cuvet ps``: where living processes stand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cuvet.analysis.standing import Standing, standings
from cuvet.analysis.waiting import still_standing
from cuvet.findings import Rank
from cuvet.launch.living import rank_of, recordings
from cuvet.recording import Recording

from ..recording import writing

S = 10**9
TRIES = 3000
"""Looks at a process that is on its way into a call."""


@contextmanager
def rank(cuvet, program, way: str) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Rank 1 of 2 on its way into a call; its directory. It is ended with the block."""
    job = cuvet.tmp_path / way
    command = cuvet.command("run", "--device", "emulated", "--trace", job / "rec.%r", "--", program("ranks"), way)
    started = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**cuvet.environment, "RANK": "1", "WORLD_SIZE": "2"},
    )
    with started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        try:
            yield job, started
        finally:
            started.terminate()


def look(job: Path) -> Standing:
    files = recordings([str(job)])
    (found,) = standings(files, lambda process: rank_of(files, process), 0, lambda seconds: None).processes
    return found


def test_a_call_that_does_not_return(cuvet, program) -> None:
    with rank(cuvet, program, "hang") as (job, _):
        looks = (look(job) for _ in range(TRIES))
        standing = next(each for each in looks if [w.site.api for w in each.waiting] == ["cuStreamSynchronize"])
        (waiting,) = standing.waiting
        assert (standing.rank.rank, standing.rank.size, standing.idle) == (1, 2, 0)
        assert (waiting.site.api, waiting.site.thread) == ("cuStreamSynchronize", standing.process)
        assert waiting.waits_for.startswith("stream#1 (0x")
        assert waiting.last_work.api == "cuLaunchHostFunc"
        shown = cuvet("ps", "--seconds", "0", str(standing.process))
        assert (shown.returncode, shown.stderr) == (0, "")
        first, second, *rest = shown.stdout.splitlines()
        assert first.startswith("rank 1 of 2 on ")
        assert second.startswith(f"   thread {standing.process} (ranks): cuStreamSynchronize for ")
        assert rest[0].startswith("     waits: for stream#1 (0x")
        every = json.loads(cuvet("ps", "--seconds", "0", "--format", "json").stdout)
        assert standing.process in [each["process"] for each in every["processes"]]


def test_a_process_that_waits_for_nothing_of_cuda_and_one_that_is_stopped(cuvet, program) -> None:
    with rank(cuvet, program, "well") as (job, _):
        standing = look(job)
        assert (standing.waiting, standing.idle, standing.verdicts) == ((), 1, ())
        assert "1 thread in no CUDA call" in cuvet("ps", "--seconds", "0", job).stdout
        os.kill(standing.process, signal.SIGSTOP)
        try:
            stopped = next(each for _ in range(TRIES) if (each := look(job)).verdicts)
        finally:
            os.kill(standing.process, signal.SIGCONT)
        assert stopped.verdicts == (
            f"process {standing.process} is stopped (SIGSTOP): kill -CONT {standing.process} lets it go on",
        )


def test_there_is_no_such_directory(cuvet, tmp_path: Path) -> None:
    done = cuvet("ps", tmp_path / "absent")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"cuvet: {tmp_path / 'absent'}: no such directory\n"


def test_there_is_no_program(cuvet, tmp_path: Path) -> None:
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec/meta.json").write_text("{}")
    done = cuvet("ps", tmp_path / "rec")
    assert (done.returncode, done.stdout) == (
        1,
        "no program of yours that `cuvet run` records has called CUDA on this machine and still runs\n",
    )
    done = cuvet("ps", "1")
    assert (done.returncode, done.stderr) == (
        2,
        "cuvet: process 1 is not one of yours that `cuvet run` records and that has called CUDA\n",
    )


Slots = dict[int, bytes]


def living(directory: Path, threads: dict[int, Slots], records: bytes = b"") -> Path:
    """The recording of this very process: its first record is 100 s old. Times are nanoseconds from there."""
    now_ns = time.monotonic_ns()
    chunks = [writing.chunk(writing.every_entry_point() + records)]
    chunks += [writing.flight(slots, thread=thread) for thread, slots in threads.items()]
    clock = ((1, now_ns - 100 * S, S), (50 * S, now_ns - 50 * S, 51 * S))
    path = writing.write(directory, chunks, pid=os.getpid(), clock=clock, newest=1, end=0)
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    with open(path, "r+b") as file:
        file.seek(152)
        file.write(int(fields[19]).to_bytes(8, "little"))
    return path


def slot(name: str, number: int, *, entered_s: float = 0, status: int = writing.PENDING, args: tuple = ()) -> bytes:
    return writing.flight_slot(name, status, number, entered=round(entered_s * S), args=args)


def seen(path: Path, seconds: float = 0) -> Standing:
    (found,) = standings([path], lambda process: Rank(rank=0), seconds, lambda wait: None).processes
    return found


def test_since_when_is_told_if_it_is_known(tmp_path: Path) -> None:
    path = living(tmp_path, {1: {1: slot("cuCtxSynchronize", 1, entered_s=40)}, 2: {1: slot("cuCtxSynchronize", 1)}})
    known, unknown = seen(path).waiting
    assert 60 * S <= known.for_ns < 70 * S
    assert (known.at_least, known.waits_for) == (False, "all work of its context")
    assert unknown.at_least
    assert unknown.for_ns < 5 * S


def test_calls_that_returned_between_the_looks_are_left_out(tmp_path: Path) -> None:
    path = living(tmp_path, {1: {1: slot("cuCtxSynchronize", 1, entered_s=40)}})

    def goes_on(seconds: float) -> None:
        living(tmp_path, {1: {1: slot("cuCtxSynchronize", 1, status=0), 2: slot("cuCtxSynchronize", 2)}})

    (standing,) = standings([path], lambda process: None, 1, goes_on).processes
    assert (standing.waiting, standing.verdicts) == ((), ())


def test_a_call_that_is_still_the_same_stands_since_it_was_seen_first(tmp_path: Path) -> None:
    threads = {
        1: {1: slot("cuCtxSynchronize", 1)},
        2: {4: slot("cuMemAlloc", 4)},
        3: {1: slot("cuMemAlloc", 1, status=0)},
    }
    recording = Recording(living(tmp_path, threads))
    list(recording.poll())
    first = still_standing([], [recording], 100)
    assert [(each.thread, each.call, each.since_ns) for each in first] == [(1, 1, 100), (2, 4, 100)]
    threads[2][5] = slot("cuMemFree", 5)
    living(tmp_path, threads)
    assert [(each.thread, each.call, each.since_ns) for each in still_standing(first, [recording], 300)] == [
        (1, 1, 100),
        (2, 5, 300),
    ]


def test_what_does_not_return_has_a_verdict(tmp_path: Path) -> None:
    path = living(tmp_path, {1: {1: slot("cuStreamSynchronize", 1, entered_s=40, args=(0,))}})
    assert seen(path).verdicts == ("cuStreamSynchronize on thread 1 does not return: it waits for the default stream",)


@pytest.mark.parametrize("name", ["cuStreamSynchronize", "cuMemAlloc"])
def test_what_was_called_just_now_has_none(tmp_path: Path, name: str) -> None:
    assert seen(living(tmp_path, {1: {1: slot(name, 1, entered_s=99)}})).verdicts == ()


def test_threads_that_wait_while_one_loads_code(tmp_path: Path) -> None:
    threads = {
        1: {1: slot("cuModuleLoadData", 1, entered_s=40)},
        2: {1: slot("cuMemAlloc", 1, entered_s=95)},
        3: {1: slot("cuLaunchKernel", 1, entered_s=95)},
    }
    first = seen(living(tmp_path, threads)).verdicts[0]
    assert first.startswith(
        "thread 1 loads code in cuModuleLoadData while other threads are in calls (cuMemAlloc on thread 2, cuLaunchKernel on thread 3): "
        "loading kernels may require context synchronization (CUDA C++ Programming Guide"
    )


def test_code_that_is_loaded_alone_or_quickly_holds_nobody_up(tmp_path: Path) -> None:
    assert seen(living(tmp_path, {1: {1: slot("cuModuleLoadData", 1, entered_s=95)}})).verdicts == ()
    quick = {1: {1: slot("cuModuleLoadData", 1)}, 2: {1: slot("cuMemAlloc", 1)}}
    assert seen(living(tmp_path, quick)).verdicts == ()


def test_a_host_function_that_calls_cuda(tmp_path: Path) -> None:
    nested = {1: slot("cuStreamSynchronize", 1, entered_s=40), 2: slot("cuMemFree", 2, entered_s=41)}
    (verdict,) = seen(living(tmp_path, {1: nested})).verdicts
    assert verdict.startswith(
        "a function that CUDA called, as it does for a stream, has called cuMemFree on thread 1, "
    )
    after = {1: slot("cuStreamSynchronize", 1, status=0), 2: slot("cuMemFree", 2, entered_s=95)}
    assert seen(living(tmp_path, {1: after})).verdicts == ()


def test_an_event_that_was_never_recorded(tmp_path: Path) -> None:
    made = writing.call(
        "cuEventCreate", (0x10, 0), entered=1, number=1, outputs=((0, writing.Kind.EVENT, 1, 0xE1),), objects=()
    )
    path = living(tmp_path, {1: {2: slot("cuEventSynchronize", 2, entered_s=40, args=(0xE1,))}}, made)
    (waiting,) = seen(path).waiting
    assert waiting.waits_for == "event#1 (0xe1), which was never recorded"


def test_a_damaged_recording_is_said(tmp_path: Path) -> None:
    (tmp_path / "1-1.cuvet").write_bytes(b"nothing" * 1000)
    found = standings([tmp_path / "1-1.cuvet"], lambda process: None, 0, lambda seconds: None)
    assert found.processes == ()
    assert found.notes == (f"{tmp_path / '1-1.cuvet'}: byte 0: not a cuvet recording",)


def test_a_recording_is_only_read(tmp_path: Path) -> None:
    path = living(tmp_path, {1: {1: slot("cuCtxSynchronize", 1, entered_s=40)}})
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())
    path.chmod(0o400)
    seen(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before
