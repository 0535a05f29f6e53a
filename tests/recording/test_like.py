"""CALL_LIKE records are read as the CALLs that they stand for, also when their examples have been freed."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvet.analysis import shortening
from cuvet.analysis.shortening import shorten
from cuvet.catalog import Kind
from cuvet.recording import Recording, examples, layout, ordering, reader
from cuvet.recording.layout import CHUNK_BYTES
from cuvet.recording.ordering import Ordering
from cuvet.recording.records import CallRecord, decode

sys.path.insert(0, str(Path(__file__).parent))
import test_repeats
import writing as w
from test_repeats import Program
from test_shortening import report

STREAM, FUNCTION = 0x100, 0xA000


def launch(
    number: int = 7, argument: int = 5, *, flags: int = w.WORK, status: int = 0, entered: int | None = None
) -> bytes:
    return w.call(
        "cuLaunchKernel",
        [FUNCTION, 1, 1, 1, 32, 1, 1, 0, STREAM, 0x7FFE, 0],
        entered=1000 + 10 * number if entered is None else entered,
        number=number,
        status=status,
        stack=3,
        context=9,
        flags=flags,
        objects=[(0, Kind.FUNCTION, 3, 1, FUNCTION, 9), (8, Kind.STREAM, 3, 1, STREAM, 9)],
        inputs={9: b"\1\0\0\0\0\0\x08\0" + argument.to_bytes(8, "little")},
    )


FIRST = launch(flags=w.WORK | w.EXAMPLE)
ARGUMENT = len(FIRST) // 8 - 1
"""The word of the launch that is its argument."""
BEFORE = launch(20)


def calls_of(recording: Recording, *, running: bool = False) -> list[CallRecord]:
    return [decode(batch.record(i)) for batch in recording.poll(running=running) for i in range(len(batch.calls))]


def read(folder: Path, *records: bytes, before: bytes = BEFORE) -> tuple[list[CallRecord], list[str]]:
    """The calls of a chunk behind that of the example, without its first, and what is wrong."""
    (folder / "r").write_bytes(w.recording([w.chunk(FIRST), w.chunk(before + b"".join(records))]))
    recording = Recording(folder / "r")
    calls = calls_of(recording)
    assert calls[:2] == [decode(launch()), decode(before)]
    return calls[2:], [problem.what for problem in recording.problems]


def test_what_differs_is_given(tmp_path: Path) -> None:
    one, other, third = read(
        tmp_path,
        w.like(64, calls=3, since=50, took=6, back=1, words={ARGUMENT: 77}),
        w.like(64, calls=200, since=1 << 31, took=7, back=1),
        w.like(64, back=1, words={4: 8 << 32 | 2, 13: 64, ARGUMENT: 1 << 63}),
    )[0]
    first = decode(launch())
    data = first.inputs[9]
    assert one == replace(
        first, entered=1250, returned=1256, number=23, inputs={9: data[:8] + (77).to_bytes(8, "little")}
    )
    later = 1250 + (1 << 31)
    assert other == replace(first, entered=later, returned=later + 7, number=223)
    assert (third.thread, third.stack, third.args[5], third.number) == (2, 8, 64, 224)
    assert third.inputs[9][8:] == bytes(7) + b"\x80"


def test_a_launch_that_is_made_again_after_one_that_is_like_another(tmp_path: Path) -> None:
    """Objects, times and numbers go on."""
    record = w.call(
        "cuEventRecord",
        [0x200, STREAM],
        entered=1300,
        number=30,
        flags=w.ORDER,
        context=9,
        objects=[(0, Kind.EVENT, 3, 1, 0x200, 9), (1, Kind.STREAM, 3, 1, STREAM, 9)],
    )
    like, again = w.like(64, back=1), w.again(64 + len(BEFORE), subject=(0x300, 1))
    calls, problems = read(tmp_path, record, like, again, like)
    assert not problems
    assert [(call.number, call.entered) for call in calls] == [(30, 1300), (31, 1310), (32, 1320), (33, 1330)]
    assert [call.objects[0].handle for call in calls] == [0x200, FUNCTION, 0x300, FUNCTION]


@pytest.mark.parametrize("took", [0, 1])
def test_one_that_is_told_of_in_full_is_there_once(tmp_path: Path, took: int) -> None:
    full = launch(21, status=700, entered=1210, flags=w.WORK | w.FAILED)
    calls, problems = read(tmp_path, w.like(64, back=1, took=took), full)
    assert [(call.number, call.status) for call in calls] == [(21, 700)]
    assert not problems


def test_one_that_has_not_returned(tmp_path: Path) -> None:
    ((call,), _) = read(tmp_path, w.like(64, back=1, took=0, words={ARGUMENT: 9}))
    assert (call.status, call.returned, call.entered) == (None, 0, 1210)
    assert call.inputs[9][8] == 9


def test_one_that_returns_while_it_is_watched(tmp_path: Path) -> None:
    path = tmp_path / "1000-1.cuvet"

    def written(took: int) -> bytes:
        rest = w.like(64, back=1, took=took, words={ARGUMENT: 9}) + w.like(64, back=1) * bool(took)
        return w.recording([w.chunk(FIRST), w.chunk(BEFORE + rest)], end=int(took > 0))

    path.write_bytes(written(0))
    given = Ordering(Recording(path))
    found = list(given.poll(running=True))
    path.write_bytes(written(6))
    found += list(given.poll())
    calls = [call for call in found if isinstance(call, CallRecord)]
    assert [(call.number, call.returned - call.entered) for call in calls[2:]] == [(21, 6), (22, 5)]
    assert calls[2].inputs[9][8] == 9


def test_an_example_in_a_chunk_that_was_not_read_yet(tmp_path: Path) -> None:
    """Its chunk was read before it was written, this one afterwards."""
    unread = w.chunk(FIRST, kind=2)
    (tmp_path / "r").write_bytes(w.recording([unread, w.chunk(BEFORE + w.like(64, back=1))]))
    assert [call.args for call in calls_of(Recording(tmp_path / "r"))] == [decode(launch()).args] * 2


@pytest.mark.parametrize(
    "record",
    [
        w.like(72, back=1),
        w.like(64, back=2),
        w.like(64),
        w.like(64, back=1, words={ARGUMENT + 1: 7}),
        w.like(64, back=1, words={0: 8}),
        w.like(64, back=1, words={7: 8}),
        w.like(64, back=1)[:18] + b"\x09" + w.like(64, back=1)[19:],
    ],
    ids=["no record", "before the file", "too large", "behind it", "its size", "its form", "no word"],
)
def test_what_refers_to_no_example_is_left_out_and_said(tmp_path: Path, record: bytes) -> None:
    large = w.call("cuInit", [0], inputs={0: bytes(9000)}, number=20, entered=1200)
    calls, problems = read(tmp_path, record, w.like(64, back=1), before=large)
    assert [call.number for call in calls] == [22]
    assert problems == ["a call that is made again, and not the one that it is like"]


def test_anything_may_stand_in_the_file(tmp_path: Path) -> None:
    drawn = random.Random(22)
    records = [w.like(64, back=1, words={drawn.randrange(8, ARGUMENT): 3}) for _ in range(300)]
    whole = w.chunk(BEFORE + b"".join(records))
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(drawn.randrange(1, 20)):
            data[drawn.randrange(64, 64 + len(BEFORE) + 300 * 32)] = drawn.randrange(256)
        (tmp_path / "r").write_bytes(w.recording([w.chunk(FIRST), bytes(data)]))
        for call in calls_of(Recording(tmp_path / "r")):
            assert len(call.args) <= 255


def test_a_reader_remembers_the_newest_of_each_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "_MOST", 3)
    known = examples.Examples()
    for place in range(5):
        known.add(1, place, FIRST)
        known.add(2, 10 + place, FIRST)
    known.add(1, 7, FIRST[:-8])
    assert [(writer, place) for writer, place, _ in known] == [(1, 2), (1, 3), (1, 4), (2, 12), (2, 13), (2, 14)]
    assert known.get(1) is None
    assert known.get(4) == FIRST


@settings(max_examples=25, deadline=None)
@given(
    st.lists(test_repeats.loops, min_size=1, max_size=4),
    st.lists(st.integers(1, 99), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_the_report_is_that_of_launches_in_full(
    program: list[tuple[list[tuple[object, ...]], int]], instants: list[int], group: int
) -> None:
    """Also of a recording that is shortened: later launches refer to examples that were freed."""
    made = Program()
    made.function(0), made.function(1)
    for body, times in program:
        for turn in range(times):
            for name, *arguments in [*body, ("launch", turn % 2), ("launch", 1, 2)]:
                getattr(made, str(name))(*arguments)
    for slot in range(3):
        made.stale(slot)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "GROUP", group)
        patch.setattr(ordering, "FEWEST", 20)
        patch.setattr(shortening, "LEAST_GAIN", -9)
        chunks = list(made.chunks())
        (whole := Path(folder, "whole")).mkdir()
        (short := Path(folder, "short")).mkdir()
        w.write(whole, chunks, flags=4)
        path = w.write(short, w.with_examples(chunks), flags=4)
        before = report(whole)
        assert report(short) == before
        for share in sorted(instants):
            shorten(path, made.now * share // 100, 2 * CHUNK_BYTES, 1 << 40)
            assert report(short) == before
        recording = Recording(path)
        assert not [*recording.poll()] or not recording.problems


def test_an_example_that_is_freed_is_kept_as_long_as_it_can_be_referred_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortening, "LEAST_GAIN", -9)
    made = Program()
    for turn in range(900):
        made.launch(turn % 2)
    path = w.write(tmp_path, w.with_examples(list(made.chunks())), flags=4)
    before = report(tmp_path)
    for until in range(20_000, made.now + 30_000, 20_000):
        assert shorten(path, until, CHUNK_BYTES, 1 << 40)
        recording = Recording(path)
        for _ in recording.poll():
            pass
        assert not recording.problems
        assert len(list(recording.examples)) <= 2
        assert report(tmp_path) == before
    assert layout.WERE_SHORTENED[-1] == int(Recording(path).header["version"])


def test_launches_that_are_kept_are_told_by_others_there(tmp_path: Path) -> None:
    """None is like another to who leaves out repetitions."""
    made, drawn = Program(), random.Random(3)
    made.make("memory", 5)
    for _ in range(3000):
        made.launch(drawn.randrange(2), drawn.randint(1, 2), drawn.randrange(256))
    path = w.write(tmp_path, list(made.chunks()), flags=4)
    before, size = report(tmp_path), len(made.records[-1][1])
    assert shorten(path, 1 << 63, CHUNK_BYTES, 1 << 40)
    kept = path.with_suffix(".kept").read_bytes()
    assert kept.count(b"\x16\0", 4096) > 2000
    assert len(kept) < 3000 * size / 2
    assert report(tmp_path) == before
    assert shorten(path, 1 << 63, CHUNK_BYTES, 1 << 40)
    assert report(tmp_path) == before
