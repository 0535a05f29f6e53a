"""Which accesses collide, and which are remembered."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvet.catalog import driver
from cuvet.catalog.roles import Kind
from cuvet.model import Call, Function, HostMemory, Stream
from cuvet.model.order import Order
from cuvet.model.places import Places
from cuvet.model.touches import MANY, MOST, Touch, Touches

MEMORY = HostMemory(kind=Kind.HOST_MEMORY, handle=0x1000, generation=1, number=1, size=0x1000)
KERNEL, OTHER = (Function(kind=Kind.FUNCTION, handle=handle, generation=1, number=handle) for handle in (1, 2))


def touch(
    start: int,
    end: int | None,
    writes: bool | None = True,
    row: int = 0,
    pitch: int = 0,
    launch: tuple[Function, bytes] | None = None,
    atomic: bool = False,
) -> Touch:
    return Touch(MEMORY, start, end, writes, None, row, pitch, launch, atomic)


@pytest.mark.parametrize(
    ("first", "second", "collide"),
    [
        (touch(0, 8), touch(8, 16), False),
        (touch(0, 8), touch(7, 16), True),
        (touch(0, 16), touch(4, 8), True),
        (touch(0, 8, False), touch(0, 8, False), False),
        (touch(0, 8, False), touch(0, 8), True),
        (touch(0, 8, None), touch(0, 8, None), False),
        (touch(0, 8, None), touch(0, 8, False), False),
        (touch(0, 8, None), touch(0, 8), True),
        (touch(0, 8, atomic=True), touch(0, 8, atomic=True), False),
        (touch(0, 8, atomic=True), touch(0, 8, False), True),
    ],
    ids=[
        "beside",
        "one byte",
        "inside",
        "both read",
        "read, write",
        "unknown twice",
        "unknown, read",
        "unknown, write",
        "both atomic",
        "atomic, read",
    ],
)
def test_ranges(first: Touch, second: Touch, collide: bool) -> None:
    assert first.collides(second) is second.collides(first) is collide


@pytest.mark.parametrize(
    ("first", "second", "collide"),
    [
        (touch(0, 272, row=16, pitch=64), touch(16, 288, row=16, pitch=64), False),
        (touch(0, 272, row=16, pitch=64), touch(15, 287, row=16, pitch=64), True),
        (touch(48, 320, row=16, pitch=64), touch(0, 272, row=16, pitch=64), False),
        (touch(48, 321, row=17, pitch=64), touch(0, 272, row=16, pitch=64), True),
        (touch(0, 272, row=64, pitch=64), touch(16, 288, row=16, pitch=64), True),
        (touch(0, 272, row=16, pitch=64), touch(128, 144), True),
        (touch(0, 272, row=16, pitch=64), touch(144, 160), False),
        (touch(0, 272, row=16, pitch=64), touch(144, 208), True),
        (touch(0, 272, row=16, pitch=64), touch(16, 288, row=16, pitch=128), False),
    ],
    ids=[
        "columns beside",
        "columns overlap",
        "the last column and the first",
        "over the end of a row",
        "whole rows",
        "a range in a column",
        "a range between",
        "a range over a row",
        "another pitch",
    ],
)
def test_rows(first: Touch, second: Touch, collide: bool) -> None:
    assert first.collides(second) is second.collides(first) is collide


@pytest.mark.parametrize(
    ("first", "second", "collide"),
    [
        (touch(0, None), touch(0, None), True),
        (touch(0, None), touch(8, None), False),
        (touch(0, None), touch(0, 8), True),
        (touch(4, None), touch(0, 8), False),
        (touch(0x1000, None, None), touch(0x1000, 0x1008), False),
        (touch(0x1008, None, None), touch(0x1000, 0x2000), True),
        (touch(0, None, launch=(KERNEL, b"1")), touch(0, None, launch=(KERNEL, b"2")), False),
        (touch(0, None, launch=(KERNEL, b"1")), touch(0, None, launch=(KERNEL, b"1")), True),
        (touch(0, None, launch=(KERNEL, b"1")), touch(0, None, launch=(OTHER, b"2")), True),
    ],
    ids=[
        "same begin",
        "other begin",
        "a copy there",
        "a copy around",
        "unknown code",
        "unknown code, whole memory",
        "other numbers",
        "same numbers",
        "other kernel",
    ],
)
def test_accesses_of_unknown_extent(first: Touch, second: Touch, collide: bool) -> None:
    """Two launches of one kernel with other numbers may each have a part of their own."""
    assert first.collides(second) is second.collides(first) is collide


@pytest.mark.parametrize(
    ("start", "begins", "collide"),
    [(0, True, True), (0, False, False), (8, True, False)],
    ids=["there", "may be", "other"],
)
def test_unknown_code_that_a_library_launches_begins_where_its_argument_points(
    start: int, begins: bool, collide: bool
) -> None:
    first, second = dataclasses.replace(touch(start, None, None), begins=begins), touch(0, 8)
    assert first.collides(second) is second.collides(first) is collide


def stream(number: int) -> Stream:
    from cuvet.model import Context

    context = Context(kind=Kind.CONTEXT, handle=1, generation=1, number=1)
    return Stream(kind=Kind.STREAM, handle=number, generation=1, number=number, flags=1, context=context)


def work(order: Order, on: Stream) -> Call:
    call = Call(driver()["cuMemsetD8Async"], (0, 0, 0, on.handle))
    order.enqueue(call, on)
    return call


def test_the_newest_access_of_each_stream_is_told() -> None:
    order, touches, a, b = Order(True), Touches(), stream(1), stream(2)
    first, second = work(order, a), work(order, a)
    touches.add(first, a, [touch(0, 8)])
    touches.add(second, a, [touch(0, 16)])
    assert [access.call for _, access in touches.races([touch(0, 8)], b, order)] == [second]
    assert not list(touches.races([touch(0, 8)], a, order))


def test_ordered_accesses_do_not_race() -> None:
    order, touches, a, b = Order(True), Touches(), stream(1), stream(2)
    a.context = b.context
    first = work(order, a)
    touches.add(first, a, [touch(0, 8)])
    clock = order.record(a)
    later = work(order, a)
    touches.add(later, a, [touch(8, 16)])
    order.wait(b, clock)
    assert not list(touches.races([touch(0, 8)], b, order))
    assert [access.call for _, access in touches.races([touch(0, 16)], b, order)] == [later]


def test_what_is_done_is_forgotten() -> None:
    order, touches, a = Order(True), Touches(), stream(1)
    touches.add(work(order, a), a, [touch(0, 8)])
    order.finish_stream(a)
    touches.forget_done(order)
    assert touches.extent() == 0


def test_what_is_not_done_is_kept() -> None:
    order, touches, a = Order(True), Touches(), stream(1)
    touches.add(work(order, a), a, [touch(0, 8)])
    touches.forget_done(order)
    assert touches.extent() == 1


def test_many_accesses_are_bounded() -> None:
    order, touches, a = Order(True), Touches(), stream(1)
    for start in range(MOST + 10):
        touches.add(work(order, a), a, [touch(start, start + 1)])
    assert touches.extent() == MOST


def test_ended_memory_is_forgotten() -> None:
    order, touches, a = Order(True), Touches(), stream(1)
    touches.add(work(order, a), a, [touch(0, 8)])
    touches.end(MEMORY)
    assert touches.extent() == 0


RANGES = st.builds(
    lambda start, size, writes, columns: touch(start, None if size is None else start + size, writes, **columns),
    st.integers(0, 300),
    st.none() | st.integers(0, 200),
    st.sampled_from((True, False, None)),
    st.sampled_from(({}, {"row": 4, "pitch": 16})),
)


@given(st.lists(RANGES, max_size=12), st.lists(RANGES, max_size=4), RANGES)
def test_what_is_told_of_many_at_once_is_true_of_each(kept: list[Touch], gone: list[Touch], asked: Touch) -> None:
    places = Places([*kept, *gone])
    for each in gone:
        places.remove(each)
    assert places.may_collide(asked) or not any(asked.collides(each) for each in kept)


def test_what_is_far_from_all_others_is_compared_with_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that nobody waits for fills ever other parts of one buffer, and so do others."""
    order, touches = Order(True), Touches()
    compared = []
    collides = Touch.collides
    monkeypatch.setattr(Touch, "collides", lambda self, other: compared.append(other) or collides(self, other))
    one, other = stream(1), stream(2)
    for number in range(2 * MOST):
        touches.add(work(order, one), one, [touch(0x1000 + 16 * number, 0x1008 + 16 * number)])
        assert list(touches.races([touch(0x1008 + 16 * number, 0x1010 + 16 * number)], other, order)) == []
    assert len(compared) < MANY * MANY
    newest = touch(0x1000 + 16 * (2 * MOST - 1), 0x1001 + 16 * (2 * MOST - 1))
    assert [found.touch.start for _, found in touches.races([newest], other, order)] == [newest.start]
    forgotten = touch(0x1000 + 16 * MOST - 16, 0x1001 + 16 * MOST - 16)
    assert list(touches.races([forgotten], other, order)) == []
