"""The records that are no calls, one by one: what they hold, and what is said of those that hold less than they say."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from cuvet.catalog import Kind
from cuvet.recording import layout
from cuvet.recording.layout import RecordType
from cuvet.recording.records import (
    Fault,
    Fork,
    Image,
    LaunchPlace,
    Module,
    Note,
    Output,
    Overlap,
    PythonCode,
    SideTables,
    Stack,
    decode,
)

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

OVERLAPPED = w.overlap(5, 2, 3, "cuInit", 4)
INIT = struct.unpack_from("<I", w.call("cuInit"), 8)[0]


def tables(*records: bytes, cut: int = 0) -> SideTables:
    """What the records say, each without its last ``cut`` bytes, at the offsets 0, 1, 2 and so on."""
    found = SideTables()
    for offset, record in enumerate(records):
        _, kind, flags = struct.unpack_from("<IHH", record)
        found.take(kind, flags, record[8 : len(record) - cut], offset)
    return found


def flagged(record: bytes, flags: int) -> bytes:
    return record[:6] + struct.pack("<H", flags) + record[8:]


@pytest.mark.parametrize(
    ("record", "name", "expected"),
    [
        (w.stack(3, [7, 8], [(5, 17), (6, 18)]), "stacks", {3: Stack((7, 8), ((5, 17), (6, 18)), 0)}),
        (flagged(w.stack(3, [7]), 9), "stacks", {3: Stack((7,), (), 9)}),
        (w.stack(3), "stacks", {3: Stack((), ())}),
        (w.python_code(4, "äö.py", "Näme"), "codes", {4: PythonCode("äö.py", "Näme")}),
        (w.module(1, 2, 3, "/x/y", b"\1\xff"), "modules", [Module(1, 2, 3, "01ff", "/x/y", 0)]),
        (flagged(w.module(1, 2, 3, "/x/y"), 2), "modules", [Module(1, 2, 3, "", "/x/y", 2)]),
        (w.thread(2, "main"), "threads", {2: "main"}),
        (w.maps(5, 2, "a\nb"), "maps", {(2, 5): "a\nb"}),
        (w.fault(11, 2, stack=3, address=4, ticks=5), "faults", [Fault(11, 2, 1, 3, 4, 0, 5)]),
        (w.fork(50, thread=2, ticks=5, stack=3), "forks", [Fork(50, 2, 5, 3, 0)]),
        (w.entry_points(["cuInit", "b"], 5), "entry_points", {5: "cuInit", 6: "b"}),
        (w.note(1, "text"), "notes", {Note(1, "text"): None}),
        (w.note(2, "text\0more"), "notes", {Note(2, "text"): None}),
        (w.image(5, 2, 9, b"abc", True), "images", {(2, 5): Image(9, b"abc", True)}),
        (w.image(5, 2, 9, b"abc", False), "images", {(2, 5): Image(9, b"abc", False)}),
        (flagged(w.image(5, 2, 9, b"", False), 2), "images", {(2, 5): Image(9, b"", False)}),
        (OVERLAPPED, "overlaps", {(2, 5): Overlap(3, INIT, 4)}),
        (
            w.launch_place(6, 7, stream=8, stack=9, words=[(1, 2), (3, 4)]),
            "places",
            {6: LaunchPlace(9, 7, 8, ((1, 2, 8), (3, 4, 8)))},
        ),
        (
            w.launch_place(6, 7, words=[(at, 0) for at in range(20)]),
            "places",
            {6: LaunchPlace(0, 7, 0, tuple((at, 0, 8) for at in range(15)))},
        ),
        (
            w.handed_out(5, 2, [(1, Kind.STREAM, 2, 3), (4, Kind.EVENT, 5, 6)]),
            "handed_out",
            {(2, 5): [Output(1, Kind.STREAM, 2, 3), Output(4, Kind.EVENT, 5, 6)]},
        ),
    ],
)
def test_a_record_is_put_where_it_belongs(record: bytes, name: str, expected: object) -> None:
    found = tables(record)
    assert getattr(found, name) == expected
    empty = SideTables()
    assert all(getattr(found, each) == getattr(empty, each) for each in vars(empty) if each != name)


def test_names_that_are_no_text_are_read() -> None:
    """A path as Python gives it to the system again."""
    found = tables(
        w.module(1, 2, 3, "/x?").replace(b"?", b"\xff"),
        w.python_code(4, "a?", "b?").replace(b"?", b"\xff"),
        w.thread(2, "t?").replace(b"?", b"\xff"),
        w.note(2, "n?").replace(b"?", b"\xff"),
        w.entry_points(["e?"]).replace(b"?", b"\xff"),
    )
    assert found.modules[0].path == "/x\udcff"
    assert found.codes == {4: PythonCode("a\ufffd", "b\ufffd")}
    assert (found.threads, found.notes) == ({2: "t\ufffd"}, {Note(2, "n\ufffd"): None})
    assert found.entry_points == {0: "e\ufffd"}


def test_names_beyond_their_count_are_not_read() -> None:
    whole = bytearray(w.entry_points(["a", "b", "c"], 5))
    struct.pack_into("<I", whole, 12, 2)
    assert tables(bytes(whole)).entry_points == {5: "a", 6: "b"}


@pytest.mark.parametrize("kind", sorted(layout.SIDE))
def test_a_record_that_is_too_short_is_said(kind: int) -> None:
    size, what = layout.SIDE[kind].size, RecordType(kind).name
    with pytest.raises(ValueError, match=f"^a {what} record of {size + 7} bytes$"):
        SideTables().take(kind, 0, bytes(size - 1), 0)
    if kind != RecordType.LAUNCHES:
        SideTables().take(kind, 0, bytes(size), 0)


@pytest.mark.parametrize(
    "whole",
    [
        w.stack(3, [7], []),
        w.stack(3, [], [(1, 2)]),
        w.python_code(4, "1234", "5678"),
        w.module(1, 2, 3, "12345678"),
        w.module(1, 2, 3, "", b"12345678"),
        w.thread(2, "12345678"),
        w.maps(5, 2, "12345678"),
        w.note(1, "12345678"),
        w.image(5, 2, 9, b"12345678", True),
        w.launch_place(6, 7, words=[(1, 2)]),
        w.handed_out(5, 2, [(1, Kind.STREAM, 2, 3)]),
        w.launches(5, 2, {}, {}),
    ],
)
def test_a_record_that_says_it_holds_more_than_its_size_is_said(whole: bytes) -> None:
    _, kind, flags = struct.unpack_from("<IHH", whole)
    data = whole[8:]
    while data and data[-1] == 0 and kind not in (RecordType.LAUNCHES, RecordType.HANDED_OUT):
        data = data[:-1]  # what fills the record up to 8 bytes
    with pytest.raises(ValueError, match=f"^a {RecordType(kind).name} record says that it holds more than its size$"):
        SideTables().take(kind, flags, data[:-1], 0)


def test_what_is_told_twice_is_kept_as_it_is_meant() -> None:
    found = tables(w.note(1, "b"), w.note(2, "a"), w.note(1, "b"), w.stack(1, [5]), w.stack(1, [6]))
    assert [(note.code, note.text) for note in found.notes] == [(1, "b"), (2, "a")]
    assert found.stacks == {1: Stack((6,), ())}
    found = tables(w.handed_out(5, 2, [(1, Kind.STREAM, 2, 3)]), w.handed_out(5, 2, [(1, Kind.EVENT, 5, 6)]))
    assert [each.value for each in found.handed_out[2, 5]] == [3, 6]


def test_launches_of_sixteen_calls_are_kept() -> None:
    """All of each."""
    records = [w.launches(number, 1, {}, {}, launching=thread) for thread in (1, 2) for number in range(1, 19)]
    found = tables(*records).launches
    assert [*found] == [(1, number) for number in range(1, 17)]
    assert all([ring.thread for ring in rings] == [1, 2] for rings in found.values())


# Calls.


def test_calls_without_inputs_share_one_dictionary() -> None:
    plain, other = decode(w.call("cuInit")), decode(w.call("cuInit", [1]))
    assert plain.inputs == {}
    assert plain.inputs is other.inputs
    assert (plain.objects, plain.outputs, plain.pointers) == ((), (), ())


def test_a_call_is_of_the_threads_own_stream_if_it_says_so() -> None:
    flags = [w.PER_THREAD, w.PER_THREAD | w.ORDER, w.ORDER, 0, 31]
    assert [decode(w.call("cuInit", flags=each)).per_thread for each in flags] == [True, True, False, False, False]


def test_a_call_that_has_not_returned_has_no_status() -> None:
    assert [decode(w.call("cuInit", status=each)).status for each in (0, 600, w.PENDING, w.PENDING - 1)] == [
        0,
        600,
        None,
        w.PENDING - 1,
    ]


def inputs(*each: tuple[int, int, bytes]) -> bytes:
    """Of (parameter, length, bytes)."""
    blob = b"".join(struct.pack("<HHI", parameter, 0, length) + data for parameter, length, data in each)
    head = bytearray(w.call("cuInit"))
    struct.pack_into("<I", head, 60, len(blob))
    return bytes(head) + blob


@pytest.mark.parametrize(
    ("blob", "found"),
    [
        (inputs((1, 8, b"12345678"), (2, 3, b"123".ljust(8, b"\0"))), {1: b"12345678", 2: b"123"}),
        (inputs((1, 0, b""), (2, 1, b"1".ljust(8, b"\0"))), {1: b"", 2: b"1"}),
        (inputs((1, 3, b"123".ljust(8, b"\0")), (1, 3, b"456".ljust(8, b"\0"))), {1: b"123"}),
        (inputs((1, 8, b"12345678"), (2, 9, b"12345678")), {1: b"12345678"}),
        (inputs((1, 9, b"12345678"), (2, 0, b"")), {1: b"12345678\2"}),
        (inputs((1, 17, b"12345678"), (2, 0, b"")), {}),
        (inputs((1, 4, b"1234")), {1: b"1234"}),
        (inputs((1, 4, b"12345678"))[:-1], {1: b"1234"}),
        (inputs((1, 0, b""), (2, 0, b""))[:-1], {1: b""}),
    ],
)
def test_inputs_of_a_call_are_read_as_far_as_they_go(blob: bytes, found: dict[int, bytes]) -> None:
    assert decode(blob).inputs == found
