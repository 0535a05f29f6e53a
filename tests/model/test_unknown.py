"""What the model makes of objects that it never saw, or that are external: it claims less, and goes on."""

from __future__ import annotations

import pytest

from cuvet.catalog.roles import Kind
from cuvet.model import Event, Graph, Model, Stream

from .driving import Drive, drive

NOWHERE, EXTERNAL, RELAXED = 0xBEEF00, 1, 2


@pytest.fixture
def cu() -> Drive:
    """Of a process that may have objects which were made out of sight."""
    return drive(Model(complete=False)).setup()


def event_at(cu: Drive, handle: int) -> Event:
    found = cu.model.find(Kind.EVENT, handle)
    assert isinstance(found, Event)
    return found


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cuStreamWaitEvent", ("stream", NOWHERE, 0)),
        ("cuStreamWaitEvent", (NOWHERE, "event", 0)),
        ("cuEventRecord", (NOWHERE, "stream")),
        ("cuEventRecord", ("event", NOWHERE)),
        ("cuEventSynchronize", (NOWHERE,)),
        ("cuStreamSynchronize", (NOWHERE,)),
        ("cuStreamGetCtx", (NOWHERE,)),
        ("cuStreamIsCapturing", (NOWHERE,)),
        ("cuStreamEndCapture", (NOWHERE,)),
        ("cuStreamEndCapture", ("stream",)),
        ("cuGraphInstantiateWithFlags", (NOWHERE, 0)),
        ("cuGraphExecUpdate", (NOWHERE, "graph")),
        ("cuGraphExecUpdate", ("executable", NOWHERE)),
        ("cuGraphAddEmptyNode", (NOWHERE, 0, 0)),
        ("cuGraphAddChildGraphNode", ("graph", 0, 0, NOWHERE)),
        ("cuGraphLaunch", (NOWHERE, "stream")),
        ("cuGraphDestroyNode", (NOWHERE,)),
        ("cuGraphDestroy", (NOWHERE,)),
        ("cuMemFreeAsync", (NOWHERE, "stream")),
        ("cuMemPoolDestroy", (NOWHERE,)),
        ("cuModuleUnload", (NOWHERE,)),
        ("cuMipmappedArrayGetLevel", (NOWHERE, 0)),
        ("cuCtxSetCurrent", (NOWHERE,)),
        ("cuCtxDestroy", (NOWHERE,)),
        ("cuCtxRecordEvent", (NOWHERE, "event")),
        ("cuCtxWaitEvent", (NOWHERE, NOWHERE)),
    ],
)
def test_a_call_on_what_was_never_seen_can_succeed_and_disturbs_nothing(
    cu: Drive, name: str, arguments: tuple[object, ...]
) -> None:
    stream, event, graph = cu.cuStreamCreate(0), cu.cuEventCreate(0), cu.cuGraphCreate(0)
    known = {"stream": stream, "event": event, "graph": graph, "executable": cu.cuGraphInstantiateWithFlags(graph, 0)}
    kinds = (Kind.STREAM, Kind.EVENT, Kind.GRAPH, Kind.GRAPH_EXEC)
    getattr(cu, name)(*(known.get(str(each), each) for each in arguments), status=0)
    for kind, handle in zip(kinds, known.values(), strict=True):
        found = cu.model.find(kind, handle)
        assert found is not None
        assert found.alive
    cu.cuCtxSynchronize()
    assert cu.status == 0


def test_an_event_that_a_graph_records_is_external(cu: Drive) -> None:
    """Its graph records it when it is launched: a wait for it says nothing that is known."""
    stream, other, event = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(0)
    assert not event_at(cu, event).external
    cu.cuStreamBeginCapture(stream, RELAXED)
    cu.cuEventRecordWithFlags(event, stream, EXTERNAL)
    cu.cuStreamEndCapture(stream)
    assert event_at(cu, event).external
    cu.cuMemsetD8Async(cu.cuMemAlloc(64), 0, 64, stream)
    work = cu.call
    assert work is not None
    waiting = cu.model.find(Kind.STREAM, other)
    assert isinstance(waiting, Stream)
    cu.cuStreamWaitEvent(other, event, 0)
    assert cu.model.ordered_after(work, waiting, work)


def test_an_event_of_another_process_is_external(cu: Drive) -> None:
    opened = cu.cuIpcOpenEventHandle(bytes(64))
    assert event_at(cu, opened).external


def test_a_captured_wait_for_an_external_event_is_the_graphs(cu: Drive) -> None:
    stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(stream, RELAXED)
    cu.cuStreamWaitEvent(stream, event, EXTERNAL)
    graph = cu.model.find(Kind.GRAPH, cu.cuStreamEndCapture(stream))
    assert isinstance(graph, Graph)
    assert [each.handle for each in graph.events] == [event]


def test_the_context_of_a_stream_is_known(cu: Drive) -> None:
    context, stream = cu.cuCtxGetCurrent(), cu.cuStreamCreate(0)
    assert cu.cuStreamGetCtx(stream)[0] == context
    assert cu.prediction is not None
    assert cu.prediction.outputs == {1: context}


def test_a_wait_of_the_host_for_the_context_is_for_its_launches(cu: Drive) -> None:
    context = cu.model.find(Kind.CONTEXT, cu.cuCtxGetCurrent())
    assert context is not None
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(0x1000), b"trivial\0")
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    assert context.launched
    cu.cuCtxSynchronize()
    assert not context.launched
