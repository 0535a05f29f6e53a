"""Order between operations: chosen cases, and properties of random programs against a graph that is searched."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvet.catalog import driver
from cuvet.catalog.roles import Kind
from cuvet.model import Call, Context, Stream
from cuvet.model.order import Clock, Order


class Work:
    """As much of a Call as the order needs."""

    entry_point = driver()["cuLaunchKernel"]
    position: tuple[int, int] | None = None


def enqueue(order: Order, stream: Stream) -> tuple[int, int]:
    work = Work()
    order.enqueue(cast(Call, work), stream)
    assert work.position is not None
    return work.position


def context(number: int = 1) -> Context:
    return Context(kind=Kind.CONTEXT, handle=number, generation=1, number=number)


def streams(owner: Context) -> tuple[Stream, Stream, Stream, Stream]:
    """The legacy default stream, two blocking streams and a non-blocking one."""
    legacy = Stream(kind=Kind.STREAM, handle=1, generation=1, number=-owner.number, context=owner, builtin=True)
    made = [
        Stream(
            kind=Kind.STREAM,
            handle=16 + n,
            generation=1,
            number=10 * owner.number + n,
            context=owner,
            flags=int(n == 3),
        )
        for n in (1, 2, 3)
    ]
    return legacy, made[0], made[1], made[2]


def test_streams_are_not_ordered_by_themselves() -> None:
    order = Order(complete=True)
    _, a, b, _ = streams(context())
    first = enqueue(order, a)
    assert order.is_before(first, a)
    assert not order.is_before(first, b)


def test_an_event_orders_what_was_recorded_and_nothing_later() -> None:
    order = Order(complete=True)
    _, a, b, _ = streams(context())
    before = enqueue(order, a)
    recorded = order.record(a)
    after = enqueue(order, a)
    order.wait(b, recorded)
    assert order.is_before(before, b)
    assert not order.is_before(after, b)


def mark(order: Order, stream: Stream, name: str) -> None:
    """A record of an event, or a wait for one."""
    call = Work()
    call.entry_point = driver()[name]
    order.enqueue(cast(Call, call), stream)


@pytest.mark.parametrize("name", ["cuEventRecord", "cuStreamWaitEvent"])
def test_blocking_streams_do_not_wait_for_marks_on_the_legacy_stream(name: str) -> None:
    """Measured: tests/hardware/order.cu."""
    order = Order(complete=True)
    legacy, a, b, _ = streams(context())
    enqueue(order, legacy)
    work = enqueue(order, a)
    mark(order, legacy, name)
    assert not order.is_before(work, b)
    enqueue(order, b)
    assert not order.is_before(work, b)
    enqueue(order, legacy)
    assert order.is_before(work, b)


@pytest.mark.parametrize("name", ["cuEventRecord", "cuStreamWaitEvent"])
def test_marks_on_a_blocking_stream_do_not_wait_for_the_legacy_stream(name: str) -> None:
    """Measured: tests/hardware/order.cu."""
    order = Order(complete=True)
    legacy, a, _, _ = streams(context())
    work = enqueue(order, legacy)
    mark(order, a, name)
    order.finish_stream(a)
    assert not order.is_done(work)
    enqueue(order, a)
    order.finish_stream(a)
    assert order.is_done(work)


def test_a_wait_for_a_blocking_stream_is_none_for_later_work_on_the_legacy_stream() -> None:
    """Measured: tests/hardware/order.cu."""
    order = Order(complete=True)
    legacy, a, b, _ = streams(context())
    first, own = enqueue(order, legacy), enqueue(order, a)
    later = enqueue(order, legacy)
    order.finish_stream(b)
    assert not order.is_done(first)
    order.finish_stream(a)
    assert order.is_done(first)
    assert order.is_done(own)
    assert not order.is_done(later)


def test_the_legacy_stream_orders_blocking_streams_only() -> None:
    order = Order(complete=True)
    legacy, a, b, free = streams(context())
    first, other = enqueue(order, a), enqueue(order, free)
    middle = enqueue(order, legacy)
    assert order.is_before(first, b)
    assert order.is_before(middle, b)
    assert not order.is_before(other, b)
    assert not order.is_before(middle, free)


def test_an_unseen_launch_on_the_legacy_stream_may_order_blocking_streams() -> None:
    order = Order(complete=False)
    _, a, b, free = streams(context())
    first = enqueue(order, a)
    assert order.is_before(first, b)
    assert not order.is_before(first, free)
    assert not order.is_done(first)
    work = enqueue(order, free)
    assert not order.is_before(work, a)
    order.wait(b, order.record(free))
    assert order.is_before(work, a)
    order.wait(free, order.record(b))
    assert order.is_before(first, free)


def test_contexts_have_their_own_legacy_streams() -> None:
    order = Order(complete=True)
    _, a, _, _ = streams(context(1))
    legacy, _, b, _ = streams(context(2))
    first = enqueue(order, a)
    enqueue(order, legacy)
    assert not order.is_before(first, b)


def test_waiting_for_the_context_finishes_all_of_its_streams() -> None:
    order = Order(complete=True)
    owner = context()
    _, a, _, free = streams(owner)
    works = enqueue(order, a), enqueue(order, free)
    assert not any(map(order.is_done, works))
    order.destroy(a)
    order.destroy(free)
    order.finish_context(owner)
    assert all(map(order.is_done, works))


@pytest.mark.parametrize("blocking", [True, False])
def test_doubt_lasts_until_the_host_has_waited(blocking: bool) -> None:
    order = Order(complete=True)
    owner = context()
    _, a, b, free = streams(owner)
    doubtful = b if blocking else free
    order.doubt(doubtful)
    assert order.is_before(enqueue(order, a), doubtful)
    order.finish_context(owner)
    assert not order.is_before(enqueue(order, a), doubtful)


@pytest.mark.parametrize("blocking", [True, False])
def test_what_is_given_to_a_stream_in_doubt_may_come_after_what_others_are_given_later(blocking: bool) -> None:
    order = Order(complete=True)
    owner = context()
    _, a, b, free = streams(owner)
    _, _, _, other = streams(context(2))
    doubtful = b if blocking else free
    order.doubt(doubtful)
    work = enqueue(order, doubtful)
    assert order.is_before(work, other) and not order.is_done(work)
    order.finish_context(owner)
    assert not order.is_before(enqueue(order, doubtful), other)
    certain = enqueue(order, a)
    assert not order.is_before(certain, other)


def test_what_a_destroyed_stream_may_have_waited_for_is_done_when_the_host_has_waited_for_its_context() -> None:
    order = Order(complete=True)
    owner = context()
    _, _, _, free = streams(owner)
    _, elsewhere, _, _ = streams(context(2))
    work = enqueue(order, elsewhere)
    enqueue(order, free)
    order.finish_context(owner)
    assert not order.is_done(work)
    order.doubt(free)
    order.destroy(free)
    order.finish_context(owner)
    assert order.is_done(work)
    later = enqueue(order, elsewhere)
    order.finish_context(owner)
    assert not order.is_done(later)


def test_an_event_on_a_blocking_stream_stands_for_earlier_work_on_the_legacy_stream() -> None:
    order = Order(complete=True)
    legacy, a, _, free = streams(context())
    earlier = enqueue(order, legacy)
    order.wait(free, order.record(a))
    later = enqueue(order, legacy)
    assert order.is_before(earlier, free)
    assert not order.is_before(later, free)


def test_a_stream_is_drained_when_the_host_has_waited_for_all_that_it_waits_for() -> None:
    order = Order(complete=True)
    _, a, _, free = streams(context())
    assert order.is_drained(free)
    order.wait(free, order.record(a))
    assert order.is_drained(free)
    enqueue(order, a)
    enqueue(order, free)
    order.wait(free, order.record(a))
    order.finish_stream(a)
    assert order.is_drained(a) and not order.is_drained(free)
    order.finish_stream(free)
    assert order.is_drained(free)


@pytest.mark.parametrize("doubtful", [0, 1, 3], ids=["legacy", "blocking", "non-blocking"])
def test_of_a_stream_in_doubt_no_event_stands_for_anything_and_it_is_not_drained(doubtful: int) -> None:
    """Blocking streams of a context share their doubt with its legacy stream."""
    order = Order(complete=True)
    lanes = streams(context())
    for lane in lanes:
        enqueue(order, lane)
        order.finish_stream(lane)
    order.doubt(lanes[doubtful])
    certain = [order.record(lane) is not None for lane in lanes]
    assert certain == ([False, False, False, True] if doubtful < 3 else [True, True, True, False])
    assert [order.is_drained(lane) for lane in lanes] == certain


def test_doubt_is_passed_on_by_events() -> None:
    order = Order(complete=True)
    _, a, _, free = streams(context())
    order.doubt(free)
    order.wait(a, order.record(free))
    assert order.is_before(enqueue(order, free), a)


STEPS = st.lists(st.tuples(st.sampled_from("wwrsqc"), st.integers(0, 3), st.integers(0, 2)), max_size=40)
"""(work, record, stream waits for event, host waits for stream, host waits for context), stream, event."""


class Graph:
    """The same program as a graph: nodes are works, with their direct predecessors."""

    def __init__(self, lanes: tuple[Stream, ...]) -> None:
        self.lanes = lanes
        self.before: list[set[int]] = []
        self.done: set[int] = set()
        self.last: list[set[int]] = [set() for _ in lanes]

    def waits_for(self, lane: int) -> set[int]:
        """All that comes before work enqueued now."""
        start = set(self.last[lane])
        if self.lanes[lane].legacy:
            start.update(*(self.last[n] for n, stream in enumerate(self.lanes) if stream.blocking))
        elif self.lanes[lane].blocking:
            start |= self.last[0]
        return self._up_to(start)

    def given_to(self, lane: int) -> set[int]:
        """All that the host has waited for if it waits for the stream."""
        return self.waits_for(lane) if self.lanes[lane].legacy else self._up_to(set(self.last[lane]))

    def _up_to(self, start: set[int]) -> set[int]:
        found: set[int] = set()
        while start:
            node = start.pop()
            found.add(node)
            start |= self.before[node] - found
        return found

    def add(self, lane: int, also: set[int] | None = None) -> None:
        self.before.append(self.waits_for(lane) | (also or set()))
        self.last[lane] = {len(self.before) - 1}


@given(STEPS)
def test_agrees_with_a_search_of_the_graph(steps: list[tuple[str, int, int]]) -> None:
    order = Order(complete=True)
    owner = context()
    lanes = streams(owner)
    graph = Graph(lanes)
    clocks: list[Clock | None] = [{}, {}, {}]
    events: list[set[int]] = [set(), set(), set()]
    positions: dict[int, tuple[int, int]] = {}
    for step, lane, event in steps:
        stream = lanes[lane]
        if step == "w":
            graph.add(lane)
            positions[len(graph.before) - 1] = enqueue(order, stream)
        elif step == "r":
            graph.add(lane)
            enqueue(order, stream)
            clocks[event], events[event] = order.record(stream), graph.waits_for(lane)
        elif step == "s":
            order.wait(stream, clocks[event])
            enqueue(order, stream)
            graph.add(lane, events[event])
        elif step == "q":
            order.finish_stream(stream)
            graph.done |= graph.given_to(lane)
        else:
            order.finish_context(owner)
            graph.done |= set(range(len(graph.before)))
        for node, position in positions.items():
            assert order.is_done(position) == (node in graph.done)
            for number, other in enumerate(lanes):
                expected = node in graph.done or node in graph.waits_for(number)
                assert order.is_before(position, other) == expected


@given(STEPS)
def test_knowing_less_never_claims_more_disorder(steps: list[tuple[str, int, int]]) -> None:
    owners = context(1), context(1)
    orders = Order(complete=True), Order(complete=False)
    lanes = streams(owners[0]), streams(owners[1])
    clocks: list[list[Clock | None]] = [[{}, {}, {}], [{}, {}, {}]]
    positions: list[tuple[int, int]] = []
    for step, lane, event in steps:
        for side, order in enumerate(orders):
            stream = lanes[side][lane]
            if step == "w":
                position = enqueue(order, stream)
                if side == 0:
                    positions.append(position)
                assert position == positions[-1] or lanes[0][lane].legacy
            elif step == "r":
                enqueue(order, stream)
                clocks[side][event] = order.record(stream)
            elif step == "s":
                order.wait(stream, clocks[side][event])
                enqueue(order, stream)
            elif step == "q":
                order.finish_stream(stream)
            else:
                order.finish_context(owners[side])
        for position in positions:
            for number in range(4):
                if orders[0].is_before(position, lanes[0][number]):
                    assert orders[1].is_before(position, lanes[1][number])


def test_of_a_stream_of_no_known_context_nothing_is_claimed() -> None:
    order = Order(complete=True)
    owner = context()
    _, a, _, _ = streams(owner)
    stray = Stream(kind=Kind.STREAM, handle=77, generation=1, number=77)
    work = Work()
    order.enqueue(cast(Call, work), stray)
    assert work.position is None
    assert order.record(stray) is None and order.record(None) is None
    first = enqueue(order, a)
    order.wait(stray, order.record(a))
    order.doubt(stray)
    order.wait(a, order.record(stray))
    assert order.is_before(first, stray)
    order.destroy(stray)
    order.finish_stream(stray)
    assert order.is_done(first)


@pytest.mark.parametrize("last", range(4))
def test_a_stream_that_ended_is_given_no_more_work(last: int) -> None:
    order = Order(complete=True)
    lanes = streams(context())
    ended = lanes[last]
    work = enqueue(order, ended)
    ended.lost = True
    order.destroy(ended)
    late = Work()
    order.enqueue(cast(Call, late), ended)
    order.wait(ended, order.record(lanes[last - 1]))
    order.doubt(ended)
    assert late.position is None and ended.timeline is None
    assert order.record(ended) is None
    assert order.is_before(work, ended) and order.is_drained(ended)


def test_work_of_a_stream_that_was_forgotten_is_done() -> None:
    """An event may stand for work of a stream that has ended since."""
    order = Order(complete=True)
    owner = context()
    _, a, _, free = streams(owner)
    work = enqueue(order, free)
    recorded = order.record(free)
    order.finish_stream(free)
    order.destroy(free)
    order.finish(recorded)
    assert order.is_done(work) and order.is_before(work, a)
    assert order.extent() == Order(complete=True).extent()


def test_a_wait_of_the_host_for_the_work_of_an_ended_stream_forgets_it() -> None:
    order = Order(complete=True)
    _, a, _, free = streams(context())
    first, second = enqueue(order, free), enqueue(order, free)
    recorded = order.record(free)
    order.destroy(free)
    enqueue(order, a)
    assert not order.is_done(first)
    order.finish({free.number: 1})
    assert order.is_done(first) and not order.is_done(second)
    order.finish(recorded)
    assert order.is_done(second)
    assert order.extent() == (1, 0, True)


def test_the_host_knows_the_latest_that_it_has_waited_for() -> None:
    order = Order(complete=True)
    _, a, _, _ = streams(context())
    works = [enqueue(order, a) for _ in range(3)]
    order.finish({a.number: 2})
    order.finish({a.number: 1})
    assert [order.is_done(work) for work in works] == [True, True, False]


def test_how_much_there_is_tells_when_streams_are_left_behind() -> None:
    order = Order(complete=True)
    owner = context()
    _, a, _, free = streams(owner)
    assert order.extent() == (0, 0, True)
    enqueue(order, a)
    enqueue(order, free)
    assert order.extent() == (2, 0, True)
    order.destroy(free)
    assert order.extent() == (2, 1, True)
    order.finish_context(owner)
    assert order.extent() == (1, 0, True)


@pytest.mark.parametrize("complete", [True, False])
def test_a_blocking_stream_s_wait_is_one_for_the_legacy_stream_too(complete: bool) -> None:
    order = Order(complete=complete)
    legacy, a, b, free = streams(context())
    work = enqueue(order, free)
    assert not order.is_before(work, legacy)
    order.wait(a, order.record(free))
    assert order.is_before(work, legacy) and order.is_before(work, a)
    assert order.is_before(work, b) is not complete
    enqueue(order, legacy)
    assert order.is_before(work, b)


def test_doubt_of_a_stream_that_ended_stays_with_its_context() -> None:
    order = Order(complete=True)
    owner = context()
    _, a, _, free = streams(owner)
    _, elsewhere, _, _ = streams(context(2))
    work = enqueue(order, elsewhere)
    enqueue(order, free)
    order.doubt(free)
    order.destroy(free)
    order.finish_stream(a)
    assert not order.is_done(work)
    order.finish_context(owner)
    assert order.is_done(work)


def test_what_may_be_done_comes_before_what_is_given_later_but_is_not_done() -> None:
    order = Order(complete=True)
    _, a, b, c = streams(context())
    first = enqueue(order, c)
    order.perhaps_finish(order.record(c))
    second = enqueue(order, c)
    assert order.is_before(first, a)
    assert not order.is_done(first)
    assert not order.is_before(second, a)
    order.perhaps_finish(None)
    assert order.is_before(second, b)
