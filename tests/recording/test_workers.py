"""The processes that judge many recordings: what is lost if one dies, which is nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.analysis import workers
from cuvet.analysis.verdicts import Options, Verdict
from cuvet.analysis.workers import Judged, Unreadable, judged, number_of_workers
from cuvet.findings import Program, Report, Tool
from cuvet.printable import valid


def verdict(directory: Path, options: Options) -> Verdict:
    report = Report(tool=Tool(version="1"), program=Program(argv=(directory.name,)))
    return Verdict(directory=str(directory), report=report)


def dies_once(directory: Path, options: Options) -> Verdict:
    """In the first process that is given ``3``."""
    mark = directory.parent / "died"
    if directory.name == "3" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return verdict(directory, options)


def always_dies(directory: Path, options: Options) -> Verdict:
    if directory.name == "3":
        os.kill(os.getpid(), signal.SIGKILL)
    return verdict(directory, options)


def cannot(directory: Path, options: Options) -> Verdict:
    errors = {"1": CuvetError("1: damaged"), "2": MemoryError(), "3": KeyError("x"), "4": PermissionError(13, "denied")}
    if directory.name in errors:
        raise errors[directory.name]
    return verdict(directory, options)


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    return [tmp_path / str(number) for number in range(6)]


@pytest.mark.parametrize("processes", [1, 2, 9])
@pytest.mark.parametrize("judge", [verdict, dies_once])
def test_nothing_is_lost_when_a_process_dies(directories: list[Path], processes: int, judge: workers.Judge) -> None:
    done: list[int] = []
    outcomes = judged(directories, Options(), processes, done.append, judge)
    assert [each.verdict.directory for each in outcomes if isinstance(each, Judged)] == list(map(str, directories))
    assert done == [1] * 6


def test_a_recording_at_which_two_died_is_unreadable(directories: list[Path]) -> None:
    outcomes = judged(directories, Options(), 2, judge=always_dies)
    assert [each for each in outcomes if isinstance(each, Unreadable)] == [outcomes[3]]
    assert outcomes[3] == Unreadable(
        why=f"{directories[3]}: the process that judged it died twice, perhaps because there was not enough memory"
    )


def test_why_a_recording_has_no_verdict(directories: list[Path]) -> None:
    outcomes = judged(directories, Options(), 2, judge=cannot)
    assert [isinstance(each, Judged) for each in outcomes] == [True, False, False, False, False, True]
    told = [each.why.removeprefix(f"{directories[0].parent}/") for each in outcomes if isinstance(each, Unreadable)]
    assert told == [
        "1: damaged",
        "2: there is not enough memory to judge it",
        "3: cuvet failed on it; please report this: KeyError: 'x'",
        "4: denied",
    ]


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    def made_up(directory: Path, options: Options) -> Verdict:
        report = Report(tool=Tool(version="1"), program=Program(argv=("\udcff",)))
        return Verdict(directory=valid(directory), report=report)

    odd = tmp_path / os.fsdecode(b"rec.\xff")
    (outcome,) = judged([odd], Options(), 1, judge=made_up)
    assert isinstance(outcome, Unreadable)
    assert outcome.why.startswith(f"{tmp_path}/rec.\\xff: its verdict cannot be written: ")


def test_a_process_that_took_much_memory_ends_after_its_recording(
    directories: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(directory: Path, options: Options) -> Verdict:
        report = Report(tool=Tool(version="1"), program=Program(argv=(str(os.getpid()),)))
        return Verdict(directory=str(directory), report=report)

    def processes() -> int:
        outcomes = judged(directories, Options(), 1, judge=told)
        return len({each.verdict.report.program.argv for each in outcomes if isinstance(each, Judged)})

    assert processes() == 1
    monkeypatch.setattr(workers, "WORKER_BYTES", 1)
    assert processes() == 6


def test_there_are_no_more_processes_than_recordings_and_processors() -> None:
    assert number_of_workers(1) == 1
    assert 1 <= number_of_workers(1 << 20) <= len(os.sched_getaffinity(0))
