"""CALL_AGAIN records are read as the CALLs that they stand for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.recording import writing as w

from cuvet.catalog import Kind
from cuvet.recording.ordering import Ordering
from cuvet.recording.reader import Recording
from cuvet.recording.records import CallRecord, decode

STREAM, EVENT = 0x100, 0x200
CREATE = w.call(
    "cuEventCreate", [0x7000, 2], entered=1000, number=7, stack=3, outputs=[(0, Kind.EVENT, 1, EVENT)], context=9
)
RECORD = w.call(
    "cuEventRecord",
    [EVENT, STREAM],
    entered=1100,
    number=9,
    flags=w.ORDER,
    context=9,
    objects=[(0, Kind.EVENT, 3, 1, EVENT, 9), (1, Kind.STREAM, 3, 4, STREAM, 9)],
)
DESTROY = w.call(
    "cuEventDestroy", [EVENT], entered=1200, number=10, context=9, objects=[(0, Kind.EVENT, 3, 1, EVENT, 9)]
)
ORIGINS = CREATE + RECORD + DESTROY
AT_CREATE, AT_RECORD, AT_DESTROY = 64, 64 + len(CREATE), 64 + len(CREATE) + len(RECORD)


def calls_of(recording: Recording, *, running: bool = False) -> list[CallRecord]:
    return [decode(batch.record(i)) for batch in recording.poll(running=running) for i in range(len(batch.calls))]


def read(folder: Path, *records: bytes) -> tuple[list[CallRecord], list[str]]:
    """The calls after the origins, and what is wrong."""
    (folder / "r").write_bytes(w.recording([w.chunk(ORIGINS + b"".join(records))]))
    recording = Recording(folder / "r")
    calls = calls_of(recording)
    assert calls[:3] == [decode(origin) for origin in (CREATE, RECORD, DESTROY)]
    return calls[3:], [problem.what for problem in recording.problems]


def subjects(calls: Sequence[CallRecord]) -> list[tuple[int, int]]:
    of = [call.outputs[0] if call.outputs else call.objects[0] for call in calls]
    return [(each.value if hasattr(each, "value") else each.handle, each.generation) for each in of]


def test_what_differs_is_the_subject_the_times_and_the_number(tmp_path: Path) -> None:
    made, recorded, ended = read(
        tmp_path,
        w.again(AT_CREATE, calls=3, since=50, took=6, subject=(0x300, 5)),
        w.again(AT_RECORD, calls=200, since=1 << 31, took=7),
        w.again(AT_DESTROY),
    )[0]
    create, record, destroy = decode(CREATE), decode(RECORD), decode(DESTROY)
    assert made == replace(
        create, entered=1250, returned=1256, number=13, outputs=(create.outputs[0]._replace(generation=5, value=0x300),)
    )
    later = 1250 + (1 << 31)
    event = record.objects[0]._replace(handle=0x300, generation=5)
    assert recorded == replace(
        record, entered=later, returned=later + 7, number=213, args=(0x300, STREAM), objects=(event, record.objects[1])
    )
    assert ended == replace(
        destroy, entered=later + 10, returned=later + 15, number=214, args=(0x300,), objects=(event,)
    )


def test_subjects_are_found_back_among_those_before(tmp_path: Path) -> None:
    calls, problems = read(
        tmp_path,
        w.again(AT_CREATE),  # the event that was destroyed last, in its next life
        w.again(AT_CREATE, subject=(0x300, 1)),
        w.again(AT_RECORD, back=1),
        w.again(AT_DESTROY, back=0),
        w.again(AT_DESTROY, back=1),
        w.again(AT_CREATE, back=1),
        w.again(AT_CREATE, back=0),
        w.again(AT_DESTROY, subject=(0x400, 65535)),
        w.again(AT_CREATE),
    )
    assert not problems
    assert subjects(calls) == [
        (EVENT, 2), (0x300, 1), (EVENT, 2), (0x300, 1), (EVENT, 2), (0x300, 2), (EVENT, 3), (0x400, 2**32 - 1), (0x400, 0),
    ]  # fmt: skip


def test_a_generation_is_the_nearest_to_that_of_the_origin(tmp_path: Path) -> None:
    far = w.call("cuEventDestroy", [1], number=11, objects=[(0, Kind.EVENT, 3, 0x1FFF0, 1, 9)])
    at = 64 + len(ORIGINS)
    calls, _ = read(tmp_path, far, w.again(at, subject=(1, 0x20010)), w.again(at, subject=(1, 0x1FFE0)))
    assert [generation for _, generation in subjects(calls)] == [0x1FFF0, 0x20010, 0x1FFE0]


def test_arguments_that_are_given_and_times_that_are_doubled(tmp_path: Path) -> None:
    calls, _ = read(
        tmp_path,
        w.again(AT_CREATE, subject=(0x300, 1), given={0: 0x7008, 1: 4}),
        w.again(AT_CREATE, given={1: 0}, took=3 << 27 | 5),
    )
    assert [call.args for call in calls] == [(0x7008, 4), (0x7000, 0)]
    assert calls[1].returned - calls[1].entered == 5 << 3


def test_a_call_that_has_not_returned(tmp_path: Path) -> None:
    made, ended = read(tmp_path, w.again(AT_CREATE, took=0, subject=(0, 0)), w.again(AT_DESTROY, back=1, took=0))[0]
    assert (made.status, made.returned, made.entered) == (None, 0, 1210)
    assert [tuple(output) for output in made.outputs] == [(0, 0, 0, 0)]
    assert (ended.status, ended.returned, ended.args) == (None, 0, (EVENT,))


@pytest.mark.parametrize("took", [0, 1])
def test_one_that_is_told_of_in_full_is_there_once(tmp_path: Path, took: int) -> None:
    """Also where the process was killed before it could say so."""
    full = w.call("cuEventCreate", [0x7000, 2], status=700, entered=1210, number=11, flags=w.LIFECYCLE | w.FAILED)
    calls, problems = read(tmp_path, w.again(AT_CREATE, took=took), full)
    assert [(call.number, call.status) for call in calls] == [(11, 700)] and not problems


@pytest.mark.parametrize(
    "record",
    [
        w.again(AT_CREATE + 8),
        w.again(64 + len(ORIGINS)),
        w.again(60_000),
        w.again(AT_CREATE)[:2] + b"\x80" + w.again(AT_CREATE)[3:],
    ],
    ids=["no record", "itself", "behind", "no word"],
)
def test_what_refers_to_no_call_is_left_out_and_said(tmp_path: Path, record: bytes) -> None:
    calls, problems = read(tmp_path, record, w.again(AT_CREATE, subject=(0x300, 1)))
    assert subjects(calls) == [(0x300, 1)]
    assert problems == ["a call that is made again, and not the one that it is like"]


def test_a_growing_chunk_is_read_on(tmp_path: Path) -> None:
    """What is new refers to what was read before; a call that had not returned is looked at again."""
    path = tmp_path / "1000-1.cuvet"
    pending = w.again(AT_CREATE, took=0, subject=(0, 0))
    path.write_bytes(w.recording([w.chunk(ORIGINS)], end=0))
    recording = Recording(path)
    assert len(calls_of(recording, running=True)) == 3
    path.write_bytes(w.recording([w.chunk(ORIGINS + pending)], end=0))
    (call,) = calls_of(recording, running=True)
    assert call.status is None
    later = w.again(AT_CREATE, subject=(0x300, 6)), w.again(AT_DESTROY)
    path.write_bytes(w.recording([w.chunk(ORIGINS + b"".join(later))], end=0))
    (ended,) = calls_of(recording, running=True)
    assert ended.args == (0x300,) and ended.number == 12


@pytest.mark.parametrize(("took", "numbers"), [(5, [7, 9, 10, 11, 12]), (1, [7, 9, 10, 12])])
def test_a_call_that_returns_while_it_is_watched(tmp_path: Path, took: int, numbers: list[int]) -> None:
    path = tmp_path / "1000-1.cuvet"
    path.write_bytes(w.recording([w.chunk(ORIGINS + w.again(AT_CREATE, took=0, subject=(0, 0)))], end=0))
    ordering = Ordering(Recording(path))
    found = list(ordering.poll(running=True))
    records = w.again(AT_CREATE, took=took, subject=(0x300, 6)) + w.again(AT_DESTROY, back=0)
    path.write_bytes(w.recording([w.chunk(ORIGINS + records)], end=1))
    found += list(ordering.poll())
    assert [call.number for call in found if isinstance(call, CallRecord)] == numbers
    made = [call for call in found if isinstance(call, CallRecord) and call.number == 11]
    assert [call.outputs[0][2:] for call in made] == [(6, 0x300)] * len(made)


def test_anything_may_stand_in_the_file(tmp_path: Path) -> None:
    drawn = random.Random(16)
    records = [w.again(drawn.choice([AT_CREATE, AT_RECORD, AT_DESTROY]), back=drawn.randrange(8)) for _ in range(300)]
    whole = w.chunk(ORIGINS + b"".join(records))
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(drawn.randrange(1, 20)):
            data[drawn.randrange(64, 64 + len(ORIGINS) + 300 * 16)] = drawn.randrange(256)
        (tmp_path / "r").write_bytes(w.recording([bytes(data)]))
        for call in calls_of(Recording(tmp_path / "r")):
            assert len(call.args) <= 255
