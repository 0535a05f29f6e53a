"""What a report offers to tell more about, of recordings made by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuvet.analysis import Analysis, Meta
from cuvet.analysis.hints import MANY_LEFT
from cuvet.catalog import Kind
from cuvet.recording import Recording
from cuvet.recording.records import LeftOutCalls

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import Thread
from test_unexplained import OF_LIBRARY, OWN, places

ELSEWHERE = 101
"""A stack of another line."""


def hints(
    directory: Path, stacks: list[int], *, after: bytes = b"", leaks: bool = False, meta: Meta | None = None
) -> tuple[str, ...]:
    """Of a process that makes an event at each of the places, and ends none."""
    t = Thread()
    records = places(2) + t.setup()
    for number, stack in enumerate(stacks, 1):
        records += t.call("cuEventCreate", 1, 0, outputs=[(0, Kind.EVENT, number, 0x9000 + number)], stack=stack)
    w.write(directory, [w.chunk(records + after)], executable="/home/me/train")
    return Analysis(directory).report(meta or Meta(pid=1000), leaks=leaks).hints


def test_many_objects_of_one_place_are_a_hint(tmp_path: Path) -> None:
    (hint,) = hints(tmp_path, [OWN] * MANY_LEFT + [ELSEWHERE])
    assert hint == f"{MANY_LEFT} events were never ended: --leaks says where they were made"


@pytest.mark.parametrize(
    "stacks",
    [
        [OWN] * (MANY_LEFT - 1),
        [OWN, ELSEWHERE] * (MANY_LEFT // 2),
        [OF_LIBRARY] * MANY_LEFT,  # it may keep them in a pool
        [0] * MANY_LEFT,  # nobody knows whose they are
    ],
)
def test_few_of_a_place_or_those_of_a_library_are_none(tmp_path: Path, stacks: list[int]) -> None:
    assert hints(tmp_path, stacks) == ()


def test_what_is_told_anyway_is_no_hint(tmp_path: Path) -> None:
    assert hints(tmp_path, [OWN] * MANY_LEFT, leaks=True) == ()


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        (Meta(pid=1000, exit_code=1), False),
        (Meta(pid=1000, signal=11), False),
        (Meta(pid=2000, exit_code=1), True),  # of another process
    ],
)
def test_a_program_that_failed_ends_nothing(tmp_path: Path, meta: Meta, told: bool) -> None:
    assert bool(hints(tmp_path, [OWN] * MANY_LEFT, meta=meta)) == told


def left_out(threads: dict[int, int]) -> dict[int, LeftOutCalls]:
    """So many calls of each thread; a thread's last ones are at 1 s."""
    at = {thread: number * 1_000_000_000 for number, thread in enumerate(threads, 1)}
    return {thread: LeftOutCalls(calls, 9, 0, at[thread]) for thread, calls in threads.items()}


def test_calls_that_were_left_out_are_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "left_out_so_far", lambda _: left_out({1: 5, 2: 0}))
    (hint,) = hints(tmp_path, [])
    assert hint.startswith("5 calls of process 1000 from 0.000 s to 1.000 s after its first call (threads 1) were")


def test_where_no_call_was_left_out_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "left_out_so_far", lambda _: left_out({1: 0, 2: 0}))
    assert hints(tmp_path, []) == ()


def test_what_the_launcher_hints_at_is_told_last_and_once(tmp_path: Path) -> None:
    found = hints(tmp_path, [OWN] * MANY_LEFT, meta=Meta(pid=1000, hints=("a", "b", "a")))
    assert found[1:] == ("a", "b")


def test_a_lost_context_keeps_all(tmp_path: Path) -> None:
    lost = Thread(2, at=900_000).call("cuCtxSynchronize", status=700, flags=w.LIFECYCLE | w.FAILED)
    assert hints(tmp_path, [OWN] * MANY_LEFT, after=lost) == ()
