"""Stream capture: who takes part, whom it forbids what, how it breaks and ends."""

from __future__ import annotations

import pytest

from cuvet.catalog import driver
from cuvet.catalog.roles import Kind
from cuvet.conformance.world import struct
from cuvet.model import Call, Event, Graph, Outcome, Stream
from cuvet.model.capturing import implied, of_named
from cuvet.model.objects import GraphNode
from cuvet.rules.rule import CRASH

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
    assert stream_at(cu, side).capture is None
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
    found = next(cu.model.captures_forbidding(cu.call), None)
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


def test_a_stream_that_waits_for_an_older_event_has_still_waited_for_the_newer_one(cu: Drive) -> None:
    origin, side = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
    memory = cu.cuMemAlloc(64)
    fork, older, newer = (cu.cuEventCreate(0) for _ in range(3))
    cu.cuStreamBeginCapture(origin, GLOBAL)
    cu.cuEventRecord(fork, origin)
    cu.cuStreamWaitEvent(side, fork, 0)
    for event in (older, newer):
        cu.cuMemsetD8Async(memory, 0, 64, side)
        cu.cuEventRecord(event, side)
    (capture,) = cu.model.captures()
    for event, unjoined in ((older, [side]), (newer, []), (older, [])):
        cu.cuStreamWaitEvent(origin, event, 0)
        assert [stream.handle for stream in capture.unjoined] == unjoined
    cu.cuStreamEndCapture(origin)
    assert cu.status == 0


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_the_legacy_stream_breaks_captures_of_blocking_streams_whoever_uses_it(cu: Drive, mode: int) -> None:
    blocking, other, memory = cu.cuStreamCreate(0), cu.cuStreamCreate(1), cu.cuMemAlloc(64)
    context = cu.cuCtxGetCurrent()
    cu.cuStreamBeginCapture(blocking, mode)
    cu.cuStreamBeginCapture(other, RELAXED)
    with cu.in_thread(2):
        cu.cuCtxSetCurrent(context)
        cu.cuStreamGetPriority(0)
        assert cu.status == 906
    first, second = cu.model.captures()
    assert first.invalidated_by is cu.call
    assert second.invalidated_by is None
    cu.cuMemsetD8(memory, 0, 64)
    assert cu.status == 906


def test_asking_whether_the_legacy_stream_captures_breaks_nothing(cu: Drive) -> None:
    cu.cuStreamBeginCapture(cu.cuStreamCreate(0), GLOBAL)
    cu.cuStreamIsCapturing(0)
    assert cu.status == 906
    (capture,) = cu.model.captures()
    assert capture.invalidated_by is None


@pytest.mark.parametrize(
    ("name", "active", "broken"),
    [
        ("cuStreamGetPriority", 0, 901),
        ("cuStreamIsCapturing", 0, 0),
        ("cuStreamGetFlags", 900, 900),
        ("cuStreamGetId", 900, 900),
        ("cuStreamSynchronize", 900, 900),
        ("cuStreamQuery", 900, 900),
        ("cuStreamEndCapture", 0, 901),
    ],
)
def test_what_may_be_asked_of_a_capturing_stream(cu: Drive, name: str, active: int, broken: int) -> None:
    for event, expected in ((cu.cuEventCreate(0), active), (0, broken)):
        stream = cu.cuStreamCreate(1)
        cu.cuStreamBeginCapture(stream, RELAXED)
        cu.cuStreamWaitEvent(stream, event, 0)
        getattr(cu, name)(stream)
        assert cu.status == expected
        cu.cuStreamDestroy(stream)


def test_a_wait_for_no_event_breaks_the_capture_and_a_record_of_none_does_not(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, RELAXED)
    (capture,) = cu.model.captures()
    cu.cuEventRecord(0, stream)
    assert (cu.status, capture.invalidated_by) == (400, None)
    cu.cuStreamWaitEvent(stream, 0, 0)
    assert (cu.status, capture.invalidated_by) == (400, cu.call)


@pytest.mark.parametrize("handle", [0, 0x1234])
def test_a_forbidden_call_is_refused_before_its_handle_is_looked_at_but_not_of_an_event(cu: Drive, handle: int) -> None:
    cu.cuStreamBeginCapture(cu.cuStreamCreate(0), GLOBAL)
    cu.cuGraphExecDestroy(handle)
    assert cu.status == 900
    cu.cuEventQuery(0)
    assert cu.status == 400


def test_a_capture_into_a_graph_ends_with_that_graph(cu: Drive) -> None:
    stream, graph = cu.cuStreamCreate(0), cu.cuGraphCreate(0)
    node = cu.cuGraphAddEmptyNode(graph, 0, 0)
    known = cu.model.find(Kind.GRAPH, graph)
    cu.cuStreamBeginCaptureToGraph(stream, graph, 0, 0, 0, RELAXED)
    cu.cuStreamEndCapture(stream, gives=graph)
    assert cu.model.find(Kind.GRAPH, graph) is known
    found = cu.model.find(Kind.GRAPH_NODE, node)
    assert found is not None
    assert found.alive


def test_a_graph_knows_the_events_of_its_nodes(cu: Drive) -> None:
    graph, child = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
    first, second, third = (cu.cuEventCreate(0) for _ in range(3))
    recorded, waiting = (
        cu.cuGraphAddEventRecordNode(graph, 0, 0, first),
        cu.cuGraphAddEventWaitNode(graph, 0, 0, second),
    )
    cu.cuGraphAddEventRecordNode(child, 0, 0, third)
    cu.cuGraphAddChildGraphNode(graph, 0, 0, child)
    clone = cu.cuGraphClone(graph)
    cu.cuGraphEventRecordNodeSetEvent(recorded, third)
    cu.cuGraphDestroyNode(waiting)

    def events_of(handle: int) -> set[int]:
        found = cu.model.find(Kind.GRAPH, handle)
        assert isinstance(found, Graph)
        return {event.handle for event in found.events}

    assert events_of(graph) == {third}
    assert events_of(clone) == {first, second, third}
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, GLOBAL)
    cu.cuEventRecordWithFlags(second, stream, 1)
    assert events_of(cu.cuStreamEndCapture(stream)) == {second}


def test_an_executable_graph_keeps_the_events_that_it_was_made_with(cu: Drive) -> None:
    graph, event = cu.cuGraphCreate(0), cu.cuEventCreate(0)
    node = cu.cuGraphAddEventWaitNode(graph, 0, 0, event)
    executable = cu.cuGraphInstantiateWithFlags(graph, 0)
    cu.cuGraphDestroyNode(node)
    cu.cuGraphLaunch(executable, 0)
    assert cu.status == 0
    cu.cuEventDestroy(event)
    cu.cuGraphInstantiateWithFlags(graph, 0)
    assert cu.status == 0
    cu.cuGraphLaunch(executable, 0)
    assert cu.prediction is not None
    assert (cu.prediction.undefined, cu.prediction.statuses) == (True, (CRASH,))


def test_a_refused_free_marks_the_captured_graph_as_one_of_memory(cu: Drive) -> None:
    stream, memory = cu.cuStreamCreate(0), cu.cuMemAlloc(64)
    graphs = []
    for frees in (False, True):
        cu.cuStreamBeginCapture(stream, RELAXED)
        if frees:
            cu.cuMemFreeAsync(memory, stream)
            assert cu.status == 1
        graphs.append(cu.cuStreamEndCapture(stream))
    for graph, expected in zip(graphs, (0, 801), strict=True):
        cu.cuGraphDestroyNode(cu.cuGraphAddEmptyNode(graph, 0, 0))
        assert cu.status == expected


def test_an_unsafe_call_breaks_all_captures_that_forbid_it(cu: Drive) -> None:
    for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
        cu.cuStreamBeginCapture(cu.cuStreamCreate(0), mode)
    cu.cuMemAlloc(64)
    assert cu.status == 900
    assert [capture.invalidated_by for capture in cu.model.captures()] == [cu.call, cu.call, None]


def test_nodes_of_an_executable_graph_are_those_that_its_graph_had(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    early = cu.cuGraphAddKernelNode(graph, 0, 0, 0)
    executable = cu.cuGraphInstantiateWithFlags(graph, 0)
    late = cu.cuGraphAddKernelNode(graph, 0, 0, 0)
    elsewhere = cu.cuGraphAddKernelNode(cu.cuGraphCreate(0), 0, 0, 0)
    for node, expected in ((early, 0), (late, 1), (elsewhere, 1)):
        cu.cuGraphExecKernelNodeSetParams(executable, node, 0)
        assert cu.status == expected


def test_a_refused_free_node_marks_its_graph_as_one_of_memory(cu: Drive) -> None:
    plain, marked = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
    cu.cuGraphAddMemFreeNode(marked, 0, 0, 0x1234, status=1)
    for graph, expected in ((plain, 0), (marked, 801)):
        cu.cuGraphClone(graph)
        assert cu.status == expected


def test_the_record_of_an_interprocess_event_is_refused_and_breaks_nothing(cu: Drive) -> None:
    stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(6)
    cu.cuStreamBeginCapture(stream, GLOBAL)
    cu.cuEventRecord(event, stream)
    assert cu.status == 900
    cu.cuStreamEndCapture(stream)
    assert cu.status == 0


def test_an_event_of_all_streams_breaks_the_captures_of_the_context(cu: Drive) -> None:
    stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(stream, RELAXED)
    cu.cuCtxRecordEvent(cu.cuCtxGetCurrent(), event)
    assert cu.status == 900
    cu.cuStreamEndCapture(stream)
    assert cu.status == 901


def test_a_graph_that_a_capture_adds_to_is_not_destroyed(cu: Drive) -> None:
    stream, graph = cu.cuStreamCreate(0), cu.cuGraphCreate(0)
    cu.cuStreamBeginCaptureToGraph(stream, graph, 0, 0, 0, RELAXED)
    cu.cuGraphDestroy(graph)
    assert cu.status == 401
    cu.cuStreamEndCapture(stream)
    cu.cuGraphDestroy(graph)
    assert cu.status == 0


def test_an_event_of_a_broken_capture_is_not_waited_for_afterwards_either() -> None:
    cu = drive().setup()
    stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(2)
    cu.cuStreamBeginCapture(stream, 0)
    cu.cuEventRecord(event, stream)
    cu.cuStreamSynchronize(stream)
    for status in (901, 1):
        cu.cuStreamEndCapture(stream) if status == 901 else cu.cuStreamWaitEvent(stream, event, 0)
        assert cu.status == status


def test_of_two_events_the_first_is_looked_at_first() -> None:
    cu = drive().setup()
    stream, captured, never = cu.cuStreamCreate(0), cu.cuEventCreate(0), cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(stream, 2)
    cu.cuEventRecord(captured, stream)
    for events, status in (((captured, never), 907), ((never, captured), 400)):
        cu.cuEventElapsedTime(*events)
        assert cu.status == status
        assert cu.model.captures()


def test_a_graph_that_was_captured_into_ends_with_an_end_on_another_thread() -> None:
    cu = drive().setup()
    stream, graph = cu.cuStreamCreate(0), cu.cuGraphCreate(0)
    node = cu.cuGraphAddEmptyNode(graph, 0, 0)
    cu.cuStreamBeginCaptureToGraph(stream, graph, 0, 0, 0, 0)
    cu.cuGraphDestroyNode(node)
    assert cu.status == 401
    with cu.in_thread(2):
        cu.cuStreamEndCapture(stream)
        assert cu.status == 908
    cu.cuGraphDestroy(graph)
    assert cu.prediction is not None and cu.prediction.undefined


def test_a_launch_that_names_its_stream_in_a_struct_sees_the_broken_capture() -> None:
    cu = drive().setup()
    stream = cu.cuStreamCreate(0)
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b"\0"), b"kernel\0")
    cu.cuStreamBeginCapture(stream, 0)
    cu.cuStreamSynchronize(stream)
    cu.cuLaunchKernelEx(struct("CUlaunchConfig", gridDimX=1, hStream=stream), function, 0, 0)
    assert cu.status == 901


def hand_out(cu: Drive, stream: int, graph: int, *nodes: int) -> list[GraphNode]:
    """The nodes that the capture hands out, and its graph if that is not 0."""
    entry_point = driver()["cuStreamGetCaptureInfo"]
    written = {entry_point.index["graph_out"]: graph} if graph else {}
    arrays = {entry_point.index["dependencies_out"]: tuple((node, 0) for node in nodes)}
    cu.model.observe(Call(entry_point, (stream, *[1] * 6), thread=1), Outcome(0, written, handed_out=arrays))
    found = [cu.model.find(Kind.GRAPH_NODE, node) for node in nodes]
    return [node for node in found if isinstance(node, GraphNode)]


@pytest.mark.parametrize("told", [0, 0x300])
def test_nodes_that_a_capture_hands_out_end_with_its_graph(cu: Drive, told: int) -> None:
    """Also if the program does not ask for the graph while it is made."""
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, 0)
    nodes = hand_out(cu, stream, told, 0x100, 0x200)
    assert hand_out(cu, stream, told, 0x100, 0x200) == nodes
    graph = cu.cuStreamEndCapture(stream, gives=0x300)
    assert [node.alive for node in nodes] == [True, True]
    cu.cuGraphDestroy(graph)
    assert [node.alive for node in nodes] == [False, False]


@pytest.mark.parametrize("told", [0, 0x300])
def test_nodes_of_a_capture_that_fails_end_with_it(cu: Drive, told: int) -> None:
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, 0)
    (node,) = hand_out(cu, stream, told, 0x100)
    cu.cuStreamEndCapture(stream, status=901)
    assert not node.alive


@pytest.mark.parametrize("name", ["cuGraphGetNodes", "cuGraphNodeGetDependencies"])
def test_a_node_of_a_dead_ones_handle_that_is_handed_out_is_another(cu: Drive, name: str) -> None:
    plain, graph = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
    node, other = cu.cuGraphAddEmptyNode(plain), cu.cuGraphAddEmptyNode(graph)
    cu.cuGraphDestroy(plain)
    array = "nodes" if name == "cuGraphGetNodes" else "dependencies"
    getattr(cu, name)(graph if array == "nodes" else other, 1, hands_out={array: [node, other]})
    found = cu.model.find(Kind.GRAPH_NODE, node)
    assert found is not None
    assert (found.generation, found.alive, found.parent) == (2, True, cu.model.find(Kind.GRAPH, graph))
    assert found.created_by is cu.call


def test_a_mode_that_is_no_mode_or_was_not_seen_changes_nothing(cu: Drive) -> None:
    for given, mode in (
        (b"\2\0\0\0", 2),
        (0x1000, 2),
        (b"\1", 2),
        (b"\7\0\0\0", 2),
        (b"\1\0\0\0", 1),
        (b"\0\0\0\0", 0),
    ):
        cu.cuThreadExchangeStreamCaptureMode(given, status=0)
        assert cu.model.capture_mode(1) == mode


def test_a_capture_on_a_stream_that_was_never_seen_is_none(cu: Drive) -> None:
    cu.cuStreamBeginCapture(0xBEEF00, 2, status=0)
    assert cu.model.captures() == ()
    for status in (901, 904, 908, 903):
        cu.cuStreamEndCapture(0xBEEF00, status=status)
        cu.cuStreamEndCapture(cu.cuStreamCreate(1), status=status)
    cu.cuMemFreeAsync(0x1234, 0xBEEF00, status=1)
    cu.cuMemFreeAsync(0x1234, 0, status=1)
    assert cu.model.captures() == ()


@pytest.mark.parametrize(
    ("status", "ends", "breaks"),
    [(901, True, False), (904, True, False), (908, True, False), (903, False, True), (1, False, False)],
)
def test_which_failed_ends_end_a_capture(cu: Drive, status: int, ends: bool, breaks: bool) -> None:
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, 2)
    (capture,) = cu.model.captures()
    cu.cuStreamEndCapture(stream, status=status)
    failed = cu.call
    assert (capture.ended_by is failed) is ends and (capture.invalidated_by is failed) is breaks
    assert cu.model.captures() == (() if ends else (capture,))
    if breaks:
        cu.cuStreamEndCapture(stream, status=status)
        assert capture.invalidated_by is failed


def test_the_first_refused_call_is_what_broke_a_capture(cu: Drive) -> None:
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, 2)
    (capture,) = cu.model.captures()
    cu.cuStreamSynchronize(stream, status=900)
    first = cu.call
    cu.cuStreamSynchronize(stream, status=900)
    assert capture.invalidated_by is first


@pytest.mark.parametrize(
    ("name", "status", "breaks"),
    [
        ("cuMemFreeAsync", 1, False),
        ("cuStreamQuery", 1, False),
        ("cuStreamQuery", 400, False),
        ("cuStreamQuery", 900, True),
    ],
)
def test_an_error_that_is_none_of_captures_breaks_none(cu: Drive, name: str, status: int, breaks: bool) -> None:
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, 2)
    (capture,) = cu.model.captures()
    getattr(cu, name)(*((0x1234, stream) if name == "cuMemFreeAsync" else (stream,)), status=status)
    assert (capture.invalidated_by is cu.call) is breaks
    assert capture.allocates is (name == "cuMemFreeAsync")


def test_only_a_refused_free_node_marks_a_graph_that_lives(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    found = cu.model.find(Kind.GRAPH, graph)
    assert isinstance(found, Graph)
    cu.cuGraphAddMemsetNode(graph, 0, 0, 0, 0, status=1)
    assert not found.allocates
    cu.cuGraphDestroy(graph)
    cu.cuGraphAddMemFreeNode(graph, 0, 0, 0x1234, status=1)
    assert not found.allocates


def test_the_time_between_events_breaks_no_capture(cu: Drive) -> None:
    stream, event = cu.cuStreamCreate(1), cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(stream, 2)
    (capture,) = cu.model.captures()
    cu.cuEventRecord(event, stream)
    cu.cuEventElapsedTime(event, event, status=907)
    assert capture.invalidated_by is None
    cu.cuEventSynchronize(event, status=907)
    assert capture.invalidated_by is cu.call


def test_an_event_of_a_capture_that_has_ended_names_none(cu: Drive) -> None:
    stream, other, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(stream, 2)
    cu.cuEventRecord(event, stream)
    assert cu.call is not None
    capture = cu.model.captures()[0]
    cu.cuEventQuery(event)
    assert of_named(cu.call, cu.model) == [capture]
    cu.cuStreamEndCapture(stream)
    cu.cuEventQuery(event)
    assert of_named(cu.call, cu.model) == []
    cu.cuStreamBeginCapture(other, 2)
    cu.cuEventQuery(cu.cuEventCreate(0))
    assert of_named(cu.call, cu.model) == []


def test_what_the_legacy_stream_would_depend_on_is_of_its_context(cu: Drive) -> None:
    blocking, free = cu.cuStreamCreate(0), cu.cuStreamCreate(1)
    memory = cu.cuMemAlloc(64)

    def would_depend_on() -> list[int]:
        assert cu.call is not None
        return [stream.handle for _, stream in implied(cu.call, cu.model)]

    cu.cuMemsetD8(memory, 0, 1)
    assert would_depend_on() == []
    cu.cuStreamBeginCapture(free, 2)
    cu.cuMemsetD8(memory, 0, 1, status=0)
    assert would_depend_on() == []
    cu.cuStreamBeginCapture(blocking, 2)
    cu.cuMemsetD8(memory, 0, 1, status=0)
    assert would_depend_on() == [blocking]
    cu.cuMemsetD8Async(memory, 0, 1, 0, status=0)
    assert would_depend_on() == [blocking]
    cu.cuMemsetD8Async(memory, 0, 1, free, status=0)
    assert would_depend_on() == []
    cu.cuCtxCreate(0, 0, 0)
    cu.cuMemsetD8(memory, 0, 1, status=0)
    assert would_depend_on() == []
    cu.cuCtxPopCurrent()
    cu.cuCtxPopCurrent()
    cu.cuMemsetD8(memory, 0, 1, status=0)
    assert would_depend_on() == []
    cu.cuMemsetD8Async(memory, 0, 1, 0, status=0)
    assert would_depend_on() == []


def test_nodes_that_are_handed_out_by_a_capture_without_a_graph_wait_for_one(cu: Drive) -> None:
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, 2)
    (capture,) = cu.model.captures()
    cu.cuStreamGetCaptureInfo(stream, gives=1, hands_out={"dependencies_out": [0x9000]})
    node = cu.model.find(Kind.GRAPH_NODE, 0x9000)
    assert node is not None
    graph = cu.model.find(Kind.GRAPH, cu.cuStreamEndCapture(stream))
    assert isinstance(graph, Graph) and graph.captured and node.parent is graph
    assert capture.nodes == [] and capture.graph is graph
