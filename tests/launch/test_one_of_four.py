"""Twelve ways to break one rank of four, and each time the right rank, thread and call are named first: emulated ranks, each with its own
``cuvet run``. Rank 1 breaks, in a thread that is not its main one."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from cuvet.analysis import analyze, standing
from cuvet.analysis.merge import merged
from cuvet.analysis.process import Meeting
from cuvet.analysis.standing import Standing
from cuvet.analysis.verdicts import Options, Verdict, recordings_below, verdict_on
from cuvet.findings import Report
from cuvet.launch.living import rank_of, recordings

from .test_many_ranks import ended_after

WORLD, BAD = 4, 1
S = 10**9
TRIES = 3000
"""Looks at ranks that are on their way into a call."""


class Job(NamedTuple):
    """``thread``: the one in which rank 1 breaks."""

    directory: Path
    ranks: tuple[subprocess.Popen[bytes], ...]
    thread: int


@pytest.fixture
def four(cuvet, program) -> Callable[..., object]:
    """Starts four ranks, of which the first breaks in its way. What is left of them ends with the block."""

    @contextmanager
    def start(way: str, follows: str) -> Iterator[Job]:
        directory = cuvet.tmp_path / "job"
        file = cuvet.tmp_path / "fifo"
        os.mkfifo(file)
        command = cuvet.command("run", "--device", "emulated", "--devices", 2, "--trace", directory / "rec.%r", "--")
        ranks = tuple(
            subprocess.Popen(
                [*command, program("ranks"), way, follows, file],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**cuvet.environment, "RANK": str(rank), "WORLD_SIZE": str(WORLD), "LOCAL_RANK": str(rank)},
            )
            for rank in range(WORLD)
        )
        try:
            thread = int(line_of(ranks[BAD]).split()[1])
            for rank in range(WORLD):
                assert rank == BAD or line_of(ranks[rank]) == b"ready\n"
            yield Job(directory, ranks, thread)
        finally:
            end(ranks)

    return start


def line_of(rank: subprocess.Popen[bytes]) -> bytes:
    assert rank.stdout is not None
    return rank.stdout.readline()


def finish(ranks: tuple[subprocess.Popen[bytes], ...]) -> None:
    """The ranks that live end well."""
    for each in ranks:
        assert each.stdin is not None
        each.stdin.close()
    for each in ranks:
        each.wait()
        assert each.stdout is not None
        each.stdout.close()


def end(ranks: tuple[subprocess.Popen[bytes], ...]) -> None:
    """Somebody ends the job."""
    for each in ranks:
        each.terminate()
    for each in ranks:
        each.wait()
    finish(ranks)


def report_of(job: Job) -> Report:
    return analyze(recordings_below(job.directory))


def look(job: Job) -> tuple[Standing, ...]:
    files = recordings([str(job.directory)])
    return standing.standings(files, lambda process: rank_of(files, process), 0, lambda seconds: None).processes


Looked = tuple[Standing, ...]


def look_until(job: Job, wanted: Callable[[Looked], bool]) -> Looked:
    return next(found for found in (look(job) for _ in range(TRIES)) if wanted(found))


def longest(standing: Standing) -> str:
    """The call that has not returned for longest."""
    return standing.waiting[0].site.api


def all_wait(found: Looked) -> bool:
    return len(found) == WORLD and all(each.waiting for each in found)


def later(seconds: float) -> SimpleNamespace:
    """A clock that is so far ahead."""
    return SimpleNamespace(monotonic_ns=lambda: time.monotonic_ns() + round(seconds * S))


@pytest.mark.parametrize(
    ("way", "follows", "says", "rule"),
    [
        ("kill", "term", "died of SIGKILL after cuCtxSynchronize", None),
        ("crash", "lost", "died of SIGSEGV after cuCtxSynchronize", None),
        ("stale", "lost", "cuStreamSynchronize: stream#1 was destroyed", "stream-use-after-destroy"),
        ("memory", "term", "cuMemAlloc: allocation of 11258999", "memory-larger-than-device"),
        ("lost", "term", "cuStreamSynchronize: a kernel used an address", "error-sticky"),
        ("device", "term", "cuEventRecord: event#1 and stream#2 belong to", "event-other-context"),
    ],
)
def test_a_rank_that_fails(four, way: str, follows: str, says: str, rule: str | None) -> None:
    with four(way, follows) as job:
        job.ranks[BAD].wait()
        finish(job.ranks)
        report = report_of(job)
    first = report.first_failure
    assert (first.rank.rank, first.rank.size, first.text[: len(says)]) == (BAD, WORLD, says)
    assert [(each.name, each.site.thread, each.ranks) for each in report.findings] == [
        (name, job.thread, (BAD,)) for name in [rule] if name
    ]
    assert [each.ranks for each in first.followers] == [(0, 2, 3)]


@pytest.mark.parametrize(
    ("way", "api", "waits_for", "verdict"),
    [
        (
            "hang",
            "cuStreamSynchronize",
            "stream#1 (0x",
            "cuStreamSynchronize on thread {} does not return: it waits for stream#1",
        ),
        (
            "event",
            "cuEventSynchronize",
            "event#1 (0x",
            "cuEventSynchronize on thread {} does not return: it waits for event#1",
        ),
        (
            "context",
            "cuCtxSynchronize",
            "all work of its con",
            "cuCtxSynchronize on thread {} does not return: it waits for all",
        ),
        ("load", "cuModuleLoad", "", "thread {} loads code in cuModuleLoad while other threads are in calls (cuMem"),
    ],
)
def test_a_rank_that_hangs_outside_of_collectives(
    four, monkeypatch, way: str, api: str, waits_for: str, verdict: str
) -> None:
    with four(way, "well") as job:
        calls = {"load": 2}.get(way, 1)
        look_until(
            job, lambda found: [len(each.waiting) for each in found] == [calls, 0, 0, 0] and longest(found[0]) == api
        )
        monkeypatch.setattr(standing, "time", later(60))
        first, *others = look(job)
        assert (first.rank.rank, first.waiting[0].site.thread, first.waiting[0].site.api) == (BAD, job.thread, api)
        assert first.waiting[0].waits_for.startswith(waits_for)
        assert first.verdicts[0].startswith(verdict.format(job.thread))
        assert [(each.rank.rank, each.waiting, each.verdicts) for each in others] == [(n, (), ()) for n in (0, 2, 3)]
        end(job.ranks)
    ended_after(job.directory, 7, WORLD)
    report = report_of(job)
    told = report.first_failure
    assert report.findings == ()
    assert (told.rank.rank, told.waiting.site.thread) == (BAD, job.thread)
    assert told.text == f"died of SIGTERM in {api}, in which it had been for 7.0 s"
    assert [each.ranks for each in told.followers] == [(0, 2, 3)]


def test_a_rank_that_is_stopped_stands_before_those_that_wait_for_it(four, monkeypatch) -> None:
    with four("well", "wait") as job:
        found = look_until(job, all_wait)
        (process,) = (each.process for each in found if each.rank.rank == BAD)
        os.kill(process, signal.SIGSTOP)
        try:
            monkeypatch.setattr(standing, "time", later(60))
            first, *others = look_until(job, lambda found: any("stopped" in each.verdicts[0] for each in found))
            assert (first.rank.rank, first.process) == (BAD, process)
            assert first.verdicts[0].startswith(f"process {process} is stopped (SIGSTOP)")
            assert all("does not return" in each.verdicts[0] for each in others)
        finally:
            os.kill(process, signal.SIGKILL)
        job.ranks[BAD].wait()
        end(job.ranks)
    told = report_of(job).first_failure
    assert (told.rank.rank, told.text) == (BAD, "died of SIGKILL in cuStreamSynchronize")


SKEWS_S = (-7200.0, 7200.0)
"""More than any machine needs for the test."""


@pytest.mark.parametrize("skew_s", SKEWS_S)
@pytest.mark.parametrize("way", ["stale", "well"])
def test_a_rank_of_two_machines_whose_clocks_are_hours_apart(four, way: str, skew_s: float) -> None:
    with four(way, "lost" if way == "stale" else "well") as job:
        if way == "stale":
            job.ranks[BAD].wait()
        finish(job.ranks)
    report = merged(skewed([verdict_on(each, Options()) for each in recordings_below(job.directory)], skew_s))
    if way == "well":
        assert (report.findings, report.first_failure) == ((), None)
        return
    first = report.first_failure
    assert (first.rank.rank, first.finding) == (BAD, True)
    assert (report.findings[0].site.thread, report.findings[0].name) == (job.thread, "stream-use-after-destroy")
    assert (
        f"the wall clock of node2 is 7200.000 s (± 0.002 s) {'ahead of' if skew_s > 0 else 'behind'} that of"
        in first.clocks
    )
    assert [each.ranks for each in first.followers] == [(0, 2, 3)]
    assert 0 <= first.followers[0].after_ns < 7200 * S


def skewed(verdicts: list[Verdict], seconds: float) -> list[Verdict]:
    """As if ranks 2 and 3 had run on another machine, whose wall clock is so far ahead, and as if all had waited for each other in
    ncclCommInitRank on GPUs: the emulated device lets nobody wait."""
    met_ns = max(each.processes[0].start.monotonic_ns for each in verdicts)
    return [_moved(each, seconds, met_ns) for each in verdicts]


def _moved(verdict: Verdict, seconds: float, met_ns: int) -> Verdict:
    (lived,) = verdict.processes
    start, elsewhere = lived.start, lived.rank.rank >= WORLD // 2
    entered_ns = met_ns - start.monotonic_ns
    ahead_ns = round(seconds * S) if elsewhere else 0
    lived = replace(
        lived,
        met=Meeting(WORLD, entered_ns, entered_ns + 2_000_000),
        start=replace(start, realtime_ns=start.realtime_ns + ahead_ns),
    )
    report = replace(verdict.report, program=replace(verdict.report.program, device="real"))
    machine = {"boot": "another", "host": "node2"} if elsewhere else {}
    return replace(verdict, processes=(lived,), report=report, **machine)


def test_four_ranks_that_are_well(cuvet, four) -> None:
    with four("well", "well") as job:
        assert [(each.rank.rank, each.waiting, each.verdicts) for each in look(job)] == [
            (n, (), ()) for n in range(WORLD)
        ]
        finish(job.ranks)
        report = report_of(job)
    assert (report.findings, report.first_failure, report.waiting, report.not_checked) == ((), None, (), ())


def test_four_ranks_that_were_all_in_the_same_call_when_the_job_was_ended(four) -> None:
    with four("well", "wait") as job:
        found = look_until(job, all_wait)
        assert [each.verdicts for each in found] == [()] * WORLD
        end(job.ranks)
    report = report_of(job)
    assert (report.findings, report.first_failure) == ((), None)
    assert [(each.site.api, each.ranks) for each in report.waiting] == [("cuStreamSynchronize", (0, 1, 2, 3))]
