"""A program that makes and ends objects in a loop, as a server does for days, leaves nothing behind in the model."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from cuvet.catalog.roles import Kind
from cuvet.model import Model, Stream
from cuvet.model.order import MOST_LEFT_BEHIND
from cuvet.model.table import ObjectTable

from .driving import Drive, drive

TURNS = 80
MOST_BYTES = 50
"""That a turn may leave behind: one object alone takes more."""
NON_BLOCKING = 1
STREAM, EVENT, MEMORY, GRAPH, NODE, EXECUTABLE, CONTEXT, POOL = range(0x100000, 0x900000, 0x100000)
"""Handles that the driver issues again and again."""

Turn = Callable[[Drive, int, int], None]


def stream_that_is_waited_for(cu: Drive, main: int, memory: int) -> None:
    stream = cu.cuStreamCreate(NON_BLOCKING, gives=STREAM)
    cu.cuMemsetD8Async(memory, 0, 64, stream)
    cu.cuStreamSynchronize(stream)
    cu.cuStreamDestroy(stream)


def stream_that_nobody_waits_for(cu: Drive, main: int, memory: int) -> None:
    stream, event = cu.cuStreamCreate(0, gives=STREAM), cu.cuEventCreate(0, gives=EVENT)
    cu.cuMemsetD8Async(memory, 0, 64, stream)
    cu.cuEventRecord(event, stream)
    cu.cuStreamWaitEvent(main, event, 0)
    cu.cuEventDestroy(event)
    cu.cuStreamDestroy(stream)
    cu.cuStreamSynchronize(main)


def memory_in_stream_order(cu: Drive, main: int, memory: int) -> None:
    memory = cu.cuMemAllocAsync(4096, main, gives=MEMORY)
    cu.cuMemsetD8Async(memory, 0, 64, main)
    cu.cuMemFreeAsync(memory, main)


def memory_freed_under_work(cu: Drive, main: int, memory: int) -> None:
    memory = cu.cuMemAllocAsync(4096, main, gives=MEMORY)
    cu.cuMemsetD8Async(memory, 0, 64, main)
    cu.cuMemFree(memory)


def pinned_memory(cu: Drive, main: int, memory: int) -> None:
    cu.cuMemFreeHost(cu.cuMemHostAlloc(4096, 0, gives=MEMORY))


def context_with_pending_work(cu: Drive, main: int, memory: int) -> None:
    context, stream = cu.cuCtxCreate(b"", 0, 0, gives=CONTEXT), cu.cuStreamCreate(0, gives=STREAM)
    cu.cuMemsetD8Async(memory, 0, 64, stream)
    cu.cuMemsetD8Async(memory, 0, 64, 0)
    cu.cuCtxDestroy(context)


def pool(cu: Drive, main: int, memory: int) -> None:
    made = cu.cuMemPoolCreate(bytes(88), gives=POOL)
    cu.cuMemFreeAsync(cu.cuMemAllocFromPoolAsync(4096, made, main, gives=MEMORY), main)
    cu.cuMemPoolDestroy(made)


def graph(cu: Drive, main: int, memory: int) -> None:
    made = cu.cuGraphCreate(0, gives=GRAPH)
    cu.cuGraphAddEmptyNode(made, b"", 0, gives=NODE)
    executable = cu.cuGraphInstantiateWithFlags(made, 0, gives=EXECUTABLE)
    cu.cuGraphLaunch(executable, main)
    cu.cuGraphExecDestroy(executable)
    cu.cuGraphDestroy(made)


def capture(cu: Drive, main: int, memory: int) -> None:
    cu.cuStreamBeginCapture(main, 0)
    cu.cuMemsetD8Async(memory, 0, 64, main)
    cu.cuGraphDestroy(cu.cuStreamEndCapture(main, gives=GRAPH))


TURNS_OF_PROGRAMS: tuple[Turn, ...] = (
    stream_that_is_waited_for,
    stream_that_nobody_waits_for,
    memory_in_stream_order,
    memory_freed_under_work,
    pinned_memory,
    context_with_pending_work,
    pool,
    graph,
    capture,
)


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def grown(turn: Callable[[], None]) -> float:
    """Bytes that a turn leaves behind, the least of three times: what the test process itself keeps meanwhile is not the model's."""
    sizes = []
    for _ in range(4):
        for _ in range(TURNS):
            turn()
        sizes.append(held())
    return min((after - before) / TURNS for before, after in pairwise(sizes))


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("turn", TURNS_OF_PROGRAMS)
def test_a_loop_leaves_nothing_behind(turn: Turn, complete: bool) -> None:
    cu = drive(Model(complete=complete)).setup()
    main, memory = cu.cuStreamCreate(NON_BLOCKING), cu.cuMemAlloc(4096)
    assert grown(lambda: turn(cu, main, memory)) < MOST_BYTES


@pytest.mark.usefixtures("traced")
def test_nodes_that_come_and_go_leave_nothing_in_their_graph() -> None:
    cu = drive().setup()
    graph = cu.cuGraphCreate(0)

    def turn() -> None:
        first = cu.cuGraphAddEmptyNode(graph, b"", 0, gives=NODE)
        second = cu.cuGraphAddEmptyNode(graph, first.to_bytes(8, "little"), 1, gives=NODE + 16)
        cu.cuGraphDestroyNode(second)
        cu.cuGraphDestroyNode(first)

    assert grown(turn) < MOST_BYTES


def test_memory_that_outlives_the_streams_that_use_it_remembers_unfinished_uses_only() -> None:
    cu = drive().setup()
    memory = cu.cuMemAllocAsync(4096, cu.cuStreamCreate(NON_BLOCKING))
    for _ in range(10):
        stream = cu.cuStreamCreate(NON_BLOCKING)
        cu.cuMemsetD8Async(memory, 0, 64, stream)
        cu.cuStreamSynchronize(stream)
        cu.cuStreamDestroy(stream)
    found = cu.model.allocation_at(memory)
    assert found is not None
    assert len(found.uses) == 1


def test_the_work_of_the_oldest_streams_left_behind_counts_as_done() -> None:
    cu = drive().setup()
    memory, works = cu.cuMemAlloc(64), []
    for _ in range(MOST_LEFT_BEHIND + 1):
        stream = cu.cuStreamCreate(NON_BLOCKING, gives=STREAM)
        cu.cuMemsetD8Async(memory, 0, 64, stream)
        works.append(cu.call)
        cu.cuStreamDestroy(stream)
    assert [cu.model.finished(work) for work in works if work is not None] == [True] + [False] * MOST_LEFT_BEHIND


def test_the_handles_that_died_first_are_forgotten() -> None:
    table = ObjectTable(remembered=2)
    made = [table.add(Stream, Kind.STREAM, handle, 0) for handle in (1, 2, 3)]
    for stream in made:
        stream.lost = True
        table.end(stream)
    assert [table.find(Kind.STREAM, handle) for handle in (1, 2, 3)] == [None, *made[1:]]
    assert table.count(Kind.STREAM) == 3


def test_a_handle_that_is_issued_again_is_not_forgotten_for_its_former_object() -> None:
    table = ObjectTable(remembered=1)
    table.end(table.add(Stream, Kind.STREAM, 1, 0))
    again = table.add(Stream, Kind.STREAM, 1, 0)
    for handle in (2, 3):
        table.end(table.add(Stream, Kind.STREAM, handle, 0))
    assert table.find(Kind.STREAM, 1) is again
