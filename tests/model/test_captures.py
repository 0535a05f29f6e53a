"""Stream capture: who takes part, whom it forbids what, how it breaks and ends."""

from __future__ import annotations

import pytest

from cuvet.catalog.roles import Kind
from cuvet.model import Event, Stream

from .driving import Drive, drive

GLOBAL, THREAD_LOCAL, RELAXED = range(3)


@pytest.fixture
def cu() -> Drive:
    return drive().setup()


def stream_at(cu: Drive, handle: int) -> Stream:
    found = cu.model.find(Kind.STREAM, handle)
    assert isinstance(found, Stream)
    return found


def test_a_stream_joins_by_waiting_for_a_captured_event(cu: Drive) -> None:
    origin, side = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
    fork = cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(origin, GLOBAL)
    begun = cu.call
    cu.cuEventRecord(fork, origin)
    assert cu.model.capture_of(stream_at(cu, side)) is None
    cu.cuStreamWaitEvent(side, fork, 0)
    (capture,) = cu.model.captures()
    assert capture.begun_by is begun
    assert capture.streams == [stream_at(cu, origin), stream_at(cu, side)]
    event = cu.model.find(Kind.EVENT, fork)
    assert isinstance(event, Event)
    assert event.captured is capture
    assert event.recorded_by is None
    cu.cuStreamEndCapture(origin)
    assert cu.model.captures() == ()
    assert stream_at(cu, side).capture is None
    assert capture.ended_by is cu.call
    assert len(list(cu.model.objects(Kind.GRAPH))) == 1
    cu.cuEventRecord(fork, origin)
    assert event.captured is None
    assert event.recorded_by is cu.call


def test_captured_work_is_no_work_yet(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    memory = cu.cuMemAlloc(64)
    cu.cuStreamBeginCapture(stream, RELAXED)
    cu.cuMemsetD8Async(memory, 0, 64, stream)
    assert cu.model.pending(stream_at(cu, stream)) is None


def test_memory_allocated_in_a_capture_is_the_graphs(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, RELAXED)
    memory = cu.cuMemAllocAsync(64, stream)
    graph = cu.cuStreamEndCapture(stream)
    executable = cu.cuGraphInstantiateWithFlags(graph, 0)
    for _ in range(2):
        cu.cuGraphLaunch(executable, stream)
        cu.cuMemFreeAsync(memory, stream)
        assert cu.status == 0
    found = cu.model.allocation_at(memory)
    assert found is not None
    assert found.variant == "graph"


@pytest.mark.parametrize(
    ("capture_mode", "own_thread", "thread_mode", "forbidden"),
    [
        (GLOBAL, True, GLOBAL, True),
        (GLOBAL, False, GLOBAL, True),
        (THREAD_LOCAL, True, GLOBAL, True),
        (THREAD_LOCAL, False, GLOBAL, False),
        (RELAXED, True, GLOBAL, False),
        (RELAXED, False, GLOBAL, False),
        (GLOBAL, True, THREAD_LOCAL, True),
        (GLOBAL, False, THREAD_LOCAL, False),
        (GLOBAL, True, RELAXED, False),
        (GLOBAL, False, RELAXED, False),
    ],
)
def test_whom_a_capture_forbids(
    cu: Drive, capture_mode: int, own_thread: bool, thread_mode: int, forbidden: bool
) -> None:
    stream = cu.cuStreamCreate(0)
    with cu.in_thread(1 if own_thread else 2):
        cu.cuStreamBeginCapture(stream, capture_mode, context=cu.model.primaries[0].handle)
    cu.cuThreadExchangeStreamCaptureMode(thread_mode.to_bytes(4, "little"))
    assert cu.call is not None
    found = cu.model.capture_forbidding(cu.call)
    assert (found is not None) is forbidden


def test_a_refused_call_breaks_the_capture_and_its_end_fails(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, GLOBAL)
    (capture,) = cu.model.captures()
    cu.cuStreamSynchronize(stream, status=900)
    breaker = cu.call
    cu.cuMemAlloc(64, status=900)
    assert capture.invalidated_by is breaker
    assert cu.cuStreamIsCapturing(stream) == 2
    cu.cuStreamEndCapture(stream, status=901)
    assert cu.model.captures() == ()
    assert stream_at(cu, stream).capture is None


def test_an_unsafe_call_breaks_the_capture_that_forbids_it(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, GLOBAL)
    (capture,) = cu.model.captures()
    cu.cuMemAlloc(64, status=900)
    assert capture.invalidated_by is cu.call


def test_a_capture_ends_with_its_stream(cu: Drive) -> None:
    origin, side = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
    fork = cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(origin, GLOBAL)
    (capture,) = cu.model.captures()
    cu.cuEventRecord(fork, origin)
    cu.cuStreamWaitEvent(side, fork, 0)
    cu.cuStreamDestroy(origin)
    assert capture.ended_by is cu.call
    assert cu.model.captures() == ()
    assert stream_at(cu, side).capture is None
    cu.cuMemAlloc(64)
    assert cu.status == 0


def test_a_stream_that_joined_ends_alone(cu: Drive) -> None:
    origin, side = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
    fork = cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(origin, GLOBAL)
    cu.cuEventRecord(fork, origin)
    cu.cuStreamWaitEvent(side, fork, 0)
    cu.cuStreamDestroy(side)
    assert len(cu.model.captures()) == 1
