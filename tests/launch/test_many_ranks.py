"""``cuvet analyze`` of several ranks: emulated ranks of which one fails, each with its own ``cuvet run``."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest

from cuvet.analysis import analyze
from cuvet.analysis.verdicts import Options, recordings_below, verdict_on
from cuvet.findings import Report

WORLD = 2
Ranks = Callable[..., Path]


@pytest.fixture
def ranks(cuvet, program) -> Ranks:
    """Runs the ranks: the one that fails, and then what the others do; returns the directory of all recordings. A rank that hangs is ended
    with ``end``, which all others get too."""

    def run(way: str, follows: str = "well", *, end: int = 0) -> Path:
        job = cuvet.tmp_path / f"job-{way}-{follows}"
        command = cuvet.command("run", "--device", "emulated", "--devices", 2, "--trace", job / "rec.%r", "--")
        started = [
            subprocess.Popen(
                [*command, program("ranks"), way, follows],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**cuvet.environment, "RANK": str(rank), "WORLD_SIZE": str(WORLD), "LOCAL_RANK": str(rank)},
            )
            for rank in range(WORLD)
        ]
        bad = started[1]
        for process in started if end or way == "well" else started[:1]:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        if not end and way != "well":
            bad.wait()
        for process in started:
            if end:
                process.send_signal(end)
                process.wait()
            assert process.stdin is not None
            process.stdin.close()
        for process in started:
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        return job

    return run


def merged(job: Path) -> Report:
    return analyze(recordings_below(job))


def edit_meta(job: Path, ranks: Iterable[int], change: Callable[[dict], None]) -> None:
    for rank in ranks:
        path = job / f"rec.{rank}" / "meta.json"
        meta = json.loads(path.read_bytes())
        change(meta)
        path.write_text(json.dumps(meta))


def ended_after(job: Path, seconds: float, world: int = WORLD) -> None:
    """Move the end of all ranks to so long after rank 1 entered the call in which it was."""
    lived = verdict_on(job / "rec.1", Options()).processes[0]
    at = lived.start.monotonic_ns + lived.waiting[0].site.time_ns + round(seconds * 10**9)
    edit_meta(job, range(world), lambda meta: meta["ended"].update(monotonic_ns=at))


def test_a_rank_that_ends_with_an_exit_code(ranks: Ranks) -> None:
    report = merged(ranks("exit", "term"))
    first = report.first_failure
    assert (first.rank.rank, first.rank.size, first.finding, first.clocks) == (1, WORLD, False, "")
    assert first.text == "ended with exit code 7"
    assert [(each.text, each.ranks) for each in first.followers] == [("died of SIGTERM", (0,))]
    assert (report.findings, report.program.exit_code) == ((), 7)


def test_contexts_that_others_lost_afterwards_are_followers(cuvet, ranks: Ranks) -> None:
    job = ranks("stale", "lost")
    report = merged(job)
    assert report.first_failure.rank.rank == 1
    assert [each.name for each in report.findings] == ["stream-use-after-destroy"]
    (follower,) = report.first_failure.followers
    assert follower.ranks == (0,)
    assert "is lost (CV901 error-sticky)" in follower.text
    lines = cuvet("analyze", job).stdout.splitlines()
    assert lines[0].startswith("failed first: rank 1 of 2 on ")
    assert "later, rank 0: cuStreamSynchronize: a kernel used" in lines[1]


def test_a_mistake_of_all_ranks_is_one(ranks: Ranks) -> None:
    report = merged(ranks("well", "lost"))
    (finding,) = report.findings
    assert (finding.name, finding.ranks, finding.processes) == ("error-sticky", (0, 1), 2)
    assert report.first_failure.finding
    assert report.first_failure.followers == ()
    assert report.first_failure.rank == finding.site.rank


def test_a_mistake_of_a_rank_that_ended_well_is_not_why_another_failed(ranks: Ranks) -> None:
    report = merged(ranks("same", "well"))
    assert (report.first_failure.rank.rank, report.first_failure.text) == (1, "ended with exit code 7")
    assert [each.ranks for each in report.findings] == [(0, 1)]


def test_ranks_that_are_all_well_are_not_told_of(cuvet, ranks: Ranks) -> None:
    job = ranks("well")
    report = merged(job)
    assert (report.findings, report.first_failure, report.not_checked) == ((), None, ())
    assert [each.rank.rank for each in report.ranks] == [0, 1]
    assert cuvet("analyze", job).stdout.startswith("0 errors, 0 warnings in ")


def test_a_job_that_was_ended_from_outside_did_not_fail(ranks: Ranks) -> None:
    report = merged(ranks("well", end=signal.SIGTERM))
    assert (report.first_failure, report.waiting) == (None, ())


def test_of_a_job_that_hung_the_call_is_named_that_did_not_return(cuvet, ranks: Ranks) -> None:
    job = ranks("hang", end=signal.SIGTERM)
    ended_after(job, 7)
    first = merged(job).first_failure
    assert (first.rank.rank, first.waiting.site.thread) == (1, first.process)
    assert first.text == "died of SIGTERM in cuStreamSynchronize, in which it had been for 7.0 s"
    assert first.waiting.waits_for.startswith("stream#1 (0x")
    assert first.waiting.last_work.api == "cuLaunchHostFunc"
    assert [(each.text, each.ranks) for each in first.followers] == [("died of SIGTERM", (0,))]
    ended_after(job, 0.5)
    report = merged(job)
    assert report.first_failure is None
    assert [(each.site.api, each.ranks) for each in report.waiting] == [("cuStreamSynchronize", (1,))]
    line, *_ = cuvet("analyze", job).stdout.splitlines()
    assert line == "when it was ended: rank 1 was in cuStreamSynchronize, for 500 ms"


def test_a_call_without_a_time_has_waited_as_long_as_it_was_watched(ranks: Ranks) -> None:
    job = ranks("unstored", end=signal.SIGTERM)
    report = merged(job)
    assert report.first_failure is None
    (waiting,) = report.waiting
    assert (waiting.site.api, waiting.ranks) == ("cuStreamSynchronize", (1,))

    def watched(meta: dict) -> None:
        call = {"process": waiting.site.process, "thread": waiting.site.thread, "call": waiting.site.call}
        meta["stood"] = [{**call, "since_ns": meta["ended"]["monotonic_ns"] - 8 * 10**9}]

    edit_meta(job, [1], watched)
    first = merged(job).first_failure
    assert first.text == "died of SIGTERM in cuStreamSynchronize, in which it had been for at least 8.0 s"
    assert merged(job).waiting == ()


def test_of_a_rank_whose_end_nobody_saw_nothing_is_said(ranks: Ranks) -> None:
    """Its ``cuvet run`` was killed, too."""
    job = ranks("kill", "term")
    edit_meta(job, [1], lambda meta: meta.update(signal=None, ended=None))
    assert merged(job).first_failure is None


def test_wall_clocks_that_may_differ_are_said(ranks: Ranks) -> None:
    """A rank of another machine, whose wall clock is an hour ahead; nothing common tells it."""
    job = ranks("kill", "term")

    def elsewhere(meta: dict) -> None:
        meta.update(boot="another", host="node2")
        meta["rank"]["host"] = "node2"
        meta["ended"]["realtime_ns"] += 3600 * 10**9

    edit_meta(job, [0], elsewhere)
    (path,) = (job / "rec.0").glob("*.cuvet")
    with open(path, "r+b") as file:
        file.seek(48)
        realtime = int.from_bytes(file.read(8), "little")
        file.seek(48)
        file.write((realtime + 3600 * 10**9).to_bytes(8, "little"))
    first = merged(job).first_failure
    assert first.rank.rank == 1
    assert "2 machines are taken to agree" in first.clocks
    assert {(each.ranks, each.after_ns > 3000 * 10**9) for each in first.followers} == {((0,), True)}


def test_a_recording_that_cannot_be_read_is_named(cuvet, ranks: Ranks) -> None:
    job = ranks("stale", "term")
    (path,) = (job / "rec.0").glob("*.cuvet")
    path.write_bytes(b"nothing" * 1000)
    done = cuvet("analyze", "--format", "json", job)
    report = msgspec.json.decode(done.stdout, type=Report)
    assert (done.returncode, done.stderr) == (0, "")
    assert report.not_checked == (f"{path}: byte 0: not a cuvet recording",)
    assert [each.name for each in report.findings] == ["stream-use-after-destroy"]


def test_several_jobs_are_not_compared(ranks: Ranks) -> None:
    both = merged(ranks("kill", "term").rename(ranks("exit", "term") / "other").parent)
    assert both.first_failure is None
    assert both.hints[0].startswith("rank 0 is in several recordings: analyze those of one job alone")


def test_programs_without_ranks_are_not_compared(ranks: Ranks) -> None:
    job = ranks("kill", "term")
    edit_meta(job, range(WORLD), lambda meta: meta.update(rank=None, ranks=[]))
    assert merged(job).first_failure is None


def test_a_directory_without_recordings(cuvet, tmp_path: Path) -> None:
    (tmp_path / "empty/below").mkdir(parents=True)
    done = cuvet("analyze", tmp_path / "empty")
    assert (done.returncode, done.stderr) == (
        2,
        f"cuvet: {tmp_path}/empty: no recording here, nor in directories below it\n",
    )
