"""Launches that the shim stored when a context was lost: what the report says of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuvet.catalog import Kind
from cuvet.recording.layout import PENDING

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import STREAM, Thread, report

FUNCTION, MEMORY = 0xF000, 0xD000
LAUNCH_ARGS = (FUNCTION, 1, 1, 1, 1)
"""What a slot has of the arguments."""


def started(t: Thread) -> bytes:
    """A kernel ``scale``, and memory that was freed."""
    stacks = (
        w.python_code(1, "/home/me/train.py", "main") + w.stack(1, (), [(1, 10), (1, 20)]) + w.stack(2, (), [(1, 30)])
    )
    made = t.setup() + t.create()
    made += t.call("cuModuleLoadData", 1, 2, outputs=[(0, Kind.MODULE, 1, 0xE000)])
    made += t.call(
        "cuModuleGetFunction",
        1,
        0xE000,
        2,
        inputs={2: b"_Z5scalePfi\0"},
        objects=[(1, Kind.MODULE, 3, 1, 0xE000, 0)],
        outputs=[(0, Kind.FUNCTION, 1, FUNCTION)],
    )
    made += t.call("cuMemAlloc", 1, 4096, outputs=[(0, Kind.MEMORY, 1, MEMORY)])
    return stacks + made + t.call("cuMemFree", MEMORY)


def lost(t: Thread) -> bytes:
    return t.call("cuCtxSynchronize", status=700, flags=w.LIFECYCLE | w.FAILED)


def slot(name: str, number: int, *args: int, status: int = 0) -> bytes:
    return w.flight_slot(name, status, number, entered=1000 + 100 * number, args=args)


def because(directory: Path, *records: bytes) -> list[str]:
    (finding,) = report(directory, b"".join(records)).findings
    return [each for each in finding.because if "scale" in each]


def test_the_kernel_that_was_given_freed_memory_is_named_with_its_lines(tmp_path: Path) -> None:
    t = Thread()
    records = started(t) + w.launch_place(5, FUNCTION, stream=STREAM, stack=1, words=[(0, 0), (1, 0)])
    number = t.calls + 2
    ring = w.launches(
        number, 1, {t.calls + 1: slot("cuLaunchKernel", t.calls + 1, *LAUNCH_ARGS)}, {t.calls + 1: (5, [MEMORY, 7])}
    )
    t.calls += 1
    said = because(tmp_path, records, ring, lost(t))
    assert said == [
        "scale<<<4, 256>>> on stream#1 at /home/me/train.py:10 (called at /home/me/train.py:20): "
        "argument 0 = 0xd000 points into device-memory#1 "
        "(4 KiB by cuMemAlloc), which was freed before by cuMemFree"
    ]


@pytest.mark.parametrize(
    ("waits", "args", "status", "named"),
    [
        ("cuCtxSynchronize", (), 0, []),
        ("cuStreamSynchronize", (STREAM,), 0, []),
        ("cuStreamSynchronize", (0x6000,), 0, ["scale"]),
        ("cuStreamSynchronize", (STREAM,), 700, ["scale"]),
        ("cuCtxGetDevice", (), 0, ["scale"]),
        ("cuStreamGetFlags", (STREAM, 1), 0, ["scale"]),
        ("cuStreamQuery", (STREAM,), 600, ["scale"]),
    ],
)
def test_a_kernel_that_was_waited_for_is_not_named(
    tmp_path: Path, waits: str, args: tuple[int, ...], status: int, named: list[str]
) -> None:
    t = Thread()
    records = started(t) + w.launch_place(5, FUNCTION, stream=STREAM, stack=2)
    first = t.calls + 1
    slots = {
        first: slot("cuLaunchKernel", first, *LAUNCH_ARGS),
        first + 1: slot(waits, first + 1, *args, status=status),
    }
    ring = w.launches(first + 2, 1, slots, {first: (5, [])})
    t.calls += 2
    assert [each.partition("<")[0] for each in because(tmp_path, records, ring, lost(t))] == named


def test_a_launch_that_failed_is_not_named(tmp_path: Path) -> None:
    t = Thread()
    records = started(t) + w.launch_place(5, FUNCTION, stream=STREAM, stack=2)
    ring = w.launches(
        t.calls + 2,
        1,
        {t.calls + 1: slot("cuLaunchKernel", t.calls + 1, *LAUNCH_ARGS, status=1)},
        {t.calls + 1: (5, [])},
    )
    t.calls += 1
    assert because(tmp_path, records, ring, lost(t)) == []


def test_a_launch_whose_place_was_overwritten_has_the_function_that_it_named(tmp_path: Path) -> None:
    """The place in the ring is of an earlier launch: stream and arguments are not known."""
    t = Thread()
    records = started(t) + w.launch_place(5, 0xBAD, stream=STREAM, stack=1)
    number = t.calls + 1
    ring = w.launches(
        number + 1, 1, {number: slot("cuLaunchKernel", number, *LAUNCH_ARGS)}, {number + 256: (5, [MEMORY])}
    )
    t.calls += 1
    said = because(tmp_path, records, ring, lost(t))
    assert said == ["scale was launched before; its thread has synchronised neither context nor stream since"]


def test_the_launches_of_another_thread_are_named_with_it(tmp_path: Path) -> None:
    t = Thread()
    records = started(t) + w.launch_place(5, FUNCTION, stream=STREAM, stack=2)
    ring = w.launches(t.calls + 1, 1, {9: slot("cuLaunchKernel", 9, *LAUNCH_ARGS)}, {9: (5, [])}, launching=2)
    (said,) = because(tmp_path, records, ring, lost(t))
    assert said.startswith("scale<<<4, 256>>> on stream#1 at /home/me/train.py:30 (thread 2) was launched before")


def test_the_thread_that_stored_the_launches_need_not_be_the_first_that_is_told(tmp_path: Path) -> None:
    """Two threads are told at once: the call of the second comes first in the recording, the first one stored the flight recorders."""
    t, other = Thread(), Thread(number=2)
    records = started(t) + w.launch_place(5, FUNCTION, stream=STREAM, stack=2)
    first = w.launches(
        t.calls + 2, 1, {t.calls + 1: slot("cuLaunchKernel", t.calls + 1, *LAUNCH_ARGS)}, {t.calls + 1: (5, [])}
    )
    second = w.launches(
        t.calls + 2,
        1,
        {
            number: slot("cuLaunchKernel", number, *LAUNCH_ARGS, status=status)
            for number, status in ((1, 0), (2, PENDING))
        },
        {1: (5, []), 2: (5, [])},
        launching=2,
    )
    t.calls, other.calls = t.calls + 1, 1
    failed = other.call("cuLaunchKernel", *LAUNCH_ARGS, at=t.at + 50, status=700, flags=w.LIFECYCLE | w.FAILED)
    (finding,) = report(tmp_path, records + first + lost(t), failed, second).findings
    said = [each for each in finding.because if "scale" in each]
    assert [each.partition(" was launched")[0] for each in said] == [
        "scale<<<4, 256>>> on stream#1 at /home/me/train.py:30",
        "scale<<<4, 256>>> on stream#1 at /home/me/train.py:30 (thread 1)",
    ]


def test_arguments_that_point_to_the_host_are_told(tmp_path: Path) -> None:
    t = Thread()
    records = started(t) + w.launch_place(5, FUNCTION, stream=STREAM, stack=2, words=[(0, 0), (1, 0), (1, 8)])
    number = t.calls + 1
    slots = {number: slot("cuLaunchKernel", number, *LAUNCH_ARGS)}
    ring = w.launches(number + 1, 1, slots, {number: (5, [0, 0x7000, 0x7000])}, on_host={number: 0b111})
    t.calls += 1
    said = because(tmp_path, records, ring, lost(t))
    assert said == [
        "scale<<<4, 256>>> on stream#1 at /home/me/train.py:30: argument 0 = 0x0 is a null pointer"
    ]  # the second is a struct


def where(directory: Path, *frames: tuple[int, int]) -> str:
    """What stands between the name of a kernel and what is said of it, where it was launched from these lines of Python."""
    t = Thread()
    codes = (
        w.python_code(2, "/usr/lib/python3/dist-packages/torch/nn.py", "forward")
        + w.python_code(3, "", "<generated>")
        + w.python_code(1, "/home/me/train.py", "main")
    )
    records = started(t) + codes + w.stack(9, (), frames) + w.launch_place(5, FUNCTION, stream=STREAM, stack=9)
    number = t.calls + 1
    ring = w.launches(number + 1, 1, {number: slot("cuLaunchKernel", number, *LAUNCH_ARGS)}, {number: (5, [])})
    t.calls += 1
    (said,) = because(directory, records, ring, lost(t))
    return said.removeprefix("scale<<<4, 256>>> on stream#1").partition(" was launched")[0]


@pytest.mark.parametrize(
    ("frames", "place"),
    [
        ([(2, 7), (1, 40), (1, 50)], " at /home/me/train.py:40 (called at /home/me/train.py:50)"),
        ([(1, 40), (2, 7)], " at /home/me/train.py:40"),
        (
            [(2, 7), (2, 8)],
            " at /usr/lib/python3/dist-packages/torch/nn.py:7 (called at /usr/lib/python3/dist-packages/torch/nn.py:8)",
        ),
        ([(3, 5), (1, 40)], " at /home/me/train.py:40"),
        ([(1, 0), (1, 40)], " at /home/me/train.py:40"),
        ([], ""),
    ],
)
def test_a_launch_is_placed_by_the_programs_own_lines(
    tmp_path: Path, frames: list[tuple[int, int]], place: str
) -> None:
    assert where(tmp_path, *frames) == place


@pytest.mark.parametrize(
    ("calls", "named"),
    [
        (["begin", "launch", "end"], 0),
        (["launch", "end"], 0),
        (["begin", "launch"], 0),
        (["begin", "end", "launch"], 1),
        (["launch", "begin", "end"], 1),
        (["launch", "begin", "launch", "end", "launch"], 2),
    ],
)
def test_a_launch_that_was_captured_is_not_named(tmp_path: Path, calls: list[str], named: int) -> None:
    t = Thread()
    records = started(t) + w.launch_place(5, FUNCTION, stream=STREAM, stack=2)
    slots, made = {}, {}
    for number, each in enumerate(calls, t.calls + 1):
        if each == "launch":
            slots[number], made[number] = slot("cuLaunchKernel", number, *LAUNCH_ARGS), (5, [])
        else:
            name = "cuStreamBeginCapture" if each == "begin" else "cuStreamEndCapture"
            slots[number] = slot(name, number, STREAM, 0)
    ring = w.launches(t.calls + len(calls) + 1, 1, slots, made)
    t.calls += len(calls)
    said = because(tmp_path, records, ring, lost(t))
    assert [("2 times" in each) + 1 for each in said] == ([named] if named else [])
