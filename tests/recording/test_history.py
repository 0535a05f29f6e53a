"""What a process did over time: its calls, the lives of its objects, what held memory."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from cuvet.analysis import ProcessAnalysis, analyze
from cuvet.analysis.history import NO_SIZE, NO_STREAM, History
from cuvet.catalog import Kind

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

CONTEXT, STREAM, EVENT, ADDRESS = 0xC000, 0x5000, 0xE000, 0x7F0000000000
STACK = 1
BEGIN = (
    w.python_code(1, "train.py", "main")
    + w.stack(STACK, (), [(1, 7)])
    + w.call("cuInit", [0], number=1, entered=1, context=0)
    + w.call("cuCtxCreate", [1, 0, 0], number=2, entered=20, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
)


def histories(directory: Path) -> list[History]:
    found: list[History] = []

    def keep(process: ProcessAnalysis) -> None:
        found.append(process.history())

    analyze([directory], then=keep)
    return found


def made(name: str, number: int, entered: int, kind: Kind, handle: int, generation: int = 1, **fields: object) -> bytes:
    outputs = [(0, kind, generation, handle)]
    return w.call(name, [1, 0], number=number, entered=entered, context=CONTEXT, outputs=outputs, **fields)  # type: ignore[arg-type]


def ended(
    name: str, number: int, entered: int, kind: Kind, handle: int, generation: int = 1, **fields: object
) -> bytes:
    objects = [(0, kind, 3, generation, handle, CONTEXT)]
    return w.call(name, [handle], number=number, entered=entered, context=CONTEXT, objects=objects, **fields)  # type: ignore[arg-type]


def lives(directory: Path, *records: bytes) -> list[tuple[str, int, int, int]]:
    """(kind, handle, when it was made, when it ended) of all but contexts, in the order of their making."""
    w.write(directory, [w.chunk(BEGIN + b"".join(records))])
    (history,) = histories(directory)
    found = history.lives
    rows = zip(*(column.tolist() for column in (found.kind, found.handle, found.made_ns, found.ended_ns)), strict=True)
    return [(Kind(kind).noun, *rest) for kind, *rest in rows if kind != Kind.CONTEXT]


def test_an_object_lives_from_the_return_of_its_making_to_its_end(tmp_path: Path) -> None:
    found = lives(
        tmp_path, made("cuEventCreate", 3, 40, Kind.EVENT, EVENT), ended("cuEventDestroy", 4, 60, Kind.EVENT, EVENT)
    )
    assert found == [("event", EVENT, 50, 60)]


def test_an_end_belongs_to_the_newest_object_of_the_handle(tmp_path: Path) -> None:
    found = lives(
        tmp_path,
        made("cuEventCreate", 3, 40, Kind.EVENT, EVENT),
        ended("cuEventDestroy", 4, 60, Kind.EVENT, EVENT),
        made("cuEventCreate", 5, 80, Kind.EVENT, EVENT, 2),
    )
    assert found == [("event", EVENT, 50, 60), ("event", EVENT, 90, -1)]


def test_a_call_that_failed_makes_and_ends_nothing(tmp_path: Path) -> None:
    failed = {"status": 400, "flags": w.FAILED}
    found = lives(
        tmp_path,
        made("cuEventCreate", 3, 40, Kind.EVENT, EVENT),
        ended("cuEventDestroy", 4, 60, Kind.EVENT, EVENT, **failed),
        made("cuStreamCreate", 5, 80, Kind.STREAM, STREAM, **failed),
    )
    assert found == [("event", EVENT, 50, -1)]


def test_a_handle_that_is_made_again_had_ended_unseen(tmp_path: Path) -> None:
    found = lives(
        tmp_path,
        made("cuEventCreate", 3, 40, Kind.EVENT, EVENT),
        made("cuEventCreate", 4, 80, Kind.EVENT, EVENT, 2),
    )
    assert found == [("event", EVENT, 50, 90), ("event", EVENT, 90, -1)]


def test_what_ends_with_its_context_ends_then(tmp_path: Path) -> None:
    found = lives(
        tmp_path,
        made("cuStreamCreate", 3, 40, Kind.STREAM, STREAM),
        ended("cuCtxDestroy", 4, 70, Kind.CONTEXT, CONTEXT),
    )
    assert found == [("stream", STREAM, 50, 70)]


def test_a_context_that_is_handed_out_again_is_no_new_one(tmp_path: Path) -> None:
    retained = (
        w.call(
            "cuDevicePrimaryCtxRetain",
            [1, 0],
            number=number,
            entered=40 * number,
            context=0,
            outputs=[(0, Kind.CONTEXT, 1, 0xD000)],
        )
        for number in (3, 4)
    )
    w.write(tmp_path, [w.chunk(BEGIN + b"".join(retained))])
    (history,) = histories(tmp_path)
    assert sorted(history.lives.handle[history.lives.kind == Kind.CONTEXT].tolist()) == [CONTEXT, 0xD000]


def test_calls_stand_in_the_order_in_which_they_entered(tmp_path: Path) -> None:
    one = BEGIN + w.call("cuStreamSynchronize", [STREAM], number=3, entered=90, status=w.PENDING, flags=w.ORDER)
    other = w.call("cuMemsetD8Async", [ADDRESS, 0, 8, STREAM], number=1, entered=60, thread=2, flags=w.WORK)
    w.write(tmp_path, [w.chunk(one), w.chunk(other, thread=2)])
    (history,) = histories(tmp_path)
    apis = [history.api_of(place) for place in history.place.tolist()]
    assert apis == ["cuInit", "cuCtxCreate", "cuMemsetD8Async", "cuStreamSynchronize"]
    assert history.thread.tolist() == [1, 1, 2, 1]
    assert history.duration_ns.tolist() == [10, 10, 10, -1]
    assert history.stream.tolist() == [NO_STREAM, NO_STREAM, STREAM, NO_STREAM]
    assert history.arguments_of(np.array([2, 3])) == [(ADDRESS, 0, 8, STREAM), (STREAM,)]
    assert history.arguments_of(np.array([2])) == [(ADDRESS, 0, 8, STREAM)]


def test_a_place_has_its_stack(tmp_path: Path) -> None:
    w.write(tmp_path, [w.chunk(BEGIN + made("cuEventCreate", 3, 40, Kind.EVENT, EVENT, stack=STACK))])
    (history,) = histories(tmp_path)
    site, library = history.place_of(int(history.place[2]))
    assert (site.api, [(frame.file, frame.line) for frame in site.frames], library) == (
        "cuEventCreate",
        [("train.py", 7)],
        None,
    )


@pytest.mark.parametrize("time", [0, (1 << 64) - 1])
def test_times_that_nobody_can_believe_are_bounded(time: int, tmp_path: Path) -> None:
    w.write(tmp_path, [w.chunk(BEGIN + w.call("cuCtxSynchronize", number=3, entered=time, returned=time))])
    (history,) = histories(tmp_path)
    assert history.entered_ns.min() >= 0 and history.entered_ns.max() <= 1 << 52 and history.end_ns <= 1 << 52


def allocated(number: int, entered: int, address: int, size: int, stack: int) -> bytes:
    outputs = [(0, Kind.MEMORY, 1, address)]
    return w.call(
        "cuMemAlloc", [1, size], number=number, entered=entered, context=CONTEXT, outputs=outputs, stack=stack
    )


def test_memory_over_time_has_each_change_with_its_place(tmp_path: Path) -> None:
    records = (
        w.stack(2, (), [(1, 9)])
        + allocated(3, 40, ADDRESS, 100, 1)
        + allocated(4, 60, ADDRESS + 4096, 1000, 2)
        + ended("cuMemFree", 5, 80, Kind.MEMORY, ADDRESS)
        + allocated(6, 100, ADDRESS + 8192, 10, 1)
    )
    w.write(tmp_path, [w.chunk(BEGIN + records)])
    (history,) = histories(tmp_path)
    (held,) = history.memory
    assert (held.heap, held.peak_bytes, held.others) == (("device", 0), 1100, 0)
    assert [place.site.frames[0].line for place in held.places] == [9, 7]
    assert held.time_ns.tolist() == [40, 60, 80, 100]
    assert held.bytes.tolist() == [100, 1000, -100, 10]
    assert held.place.tolist() == [1, 0, 1, 1]


def test_places_that_hold_little_are_taken_together(tmp_path: Path) -> None:
    records = b"".join(
        w.stack(10 + index, (), [(1, 100 + index)])
        + allocated(3 + index, 40 + index, ADDRESS + 4096 * index, 100 - index, 10 + index)
        for index in range(15)
    )
    w.write(tmp_path, [w.chunk(BEGIN + records)])
    (history,) = histories(tmp_path)
    (held,) = history.memory
    assert (len(held.places), held.others) == (12, 3)
    assert [place.site.frames[0].line for place in held.places] == [*range(100, 112)]
    assert held.place.tolist() == [*range(12), 12, 12, 12]


def test_nothing_is_kept_unless_it_is_asked_for(tmp_path: Path) -> None:
    w.write(tmp_path, [w.chunk(BEGIN + allocated(3, 40, ADDRESS, 100, 1))])
    report = analyze([tmp_path], memory=True)
    assert report.memory is not None
    assert [use.bytes for use in report.memory] == [100]
    found: list[bool] = []
    analyze(
        [tmp_path],
        then=lambda process: found.append(process.model is not None and process.model.ledger.changes is not None),
    )
    assert found == [True]


def test_memory_has_its_size_and_the_call_that_ended_it(tmp_path: Path) -> None:
    allocated = w.call(
        "cuMemAlloc", [1, 4096], number=3, entered=40, context=CONTEXT, outputs=[(0, Kind.MEMORY, 1, ADDRESS)]
    )
    w.write(tmp_path, [w.chunk(BEGIN + allocated + ended("cuMemFree", 4, 60, Kind.MEMORY, ADDRESS))])
    (history,) = histories(tmp_path)
    found = history.lives
    (memory,) = np.flatnonzero(found.kind == Kind.MEMORY).tolist()
    assert (found.size[memory], found.ended[memory]) == (4096, 3)
    (context,) = np.flatnonzero(found.kind == Kind.CONTEXT).tolist()
    assert (found.size[context], found.ended[context]) == (NO_SIZE, -1)


def test_no_call_ended_an_object_whose_handle_is_made_again(tmp_path: Path) -> None:
    w.write(
        tmp_path,
        [
            w.chunk(
                BEGIN
                + made("cuEventCreate", 3, 40, Kind.EVENT, EVENT)
                + made("cuEventCreate", 4, 80, Kind.EVENT, EVENT, 2)
            )
        ],
    )
    (history,) = histories(tmp_path)
    assert history.lives.ended.tolist() == [-1, -1, -1]


def test_a_clock_that_begins_late_in_its_range_is_believed(tmp_path: Path) -> None:
    begin = (1 << 64) - 100
    calls = [
        w.call("cuInit", [0], number=number, entered=begin + 20 * number, returned=begin + 20 * number + 5, context=0)
        for number in (1, 2)
    ]
    w.write(tmp_path, [w.chunk(b"".join(calls))], clock=((begin, 0, 1),))
    (history,) = histories(tmp_path)
    assert history.entered_ns.tolist() == [20, 40]
    assert history.duration_ns.tolist() == [5, 5]
