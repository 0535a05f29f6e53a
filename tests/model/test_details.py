"""What single calls return and leave behind, in cases that programs of rules do not reach."""

from __future__ import annotations

import pytest

from cuvet.catalog import libraries
from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.roles import Kind
from cuvet.conformance.world import struct
from cuvet.model import Call, Model, Outcome
from cuvet.model.nodes import node_type, node_types
from cuvet.model.objects import Event, Graph, GraphNode, LibraryObject

from .driving import Drive, drive

FLOATS = 0x20
EMPTY, HOST = 5, 3
EVENT_RECORD = 7


@pytest.fixture
def cu() -> Drive:
    return drive().setup()


def library_call(name: str, *words: int) -> Call:
    entry_point = next(catalog[name] for catalog in libraries().values() if name in catalog)
    return Call(entry_point, words + (0,) * (len(entry_point.parameters) - len(words)), thread=1, number=100)


@pytest.mark.parametrize(
    ("offset", "size", "status"), [(0, 256, 0), (0, 257, 1), (128, 128, 0), (128, 129, 1), (256, 0, 0)]
)
def test_a_copy_ends_within_its_array(cu: Drive, offset: int, size: int, status: int) -> None:
    array = cu.cuArrayCreate(struct("CUDA_ARRAY_DESCRIPTOR", Width=64, Height=0, Format=FLOATS, NumChannels=1))
    memory = cu.cuMemAlloc(4096)
    cu.cuMemcpyDtoA(array, offset, memory, size)
    assert cu.status == status
    cu.cuMemcpyAtoD(memory, array, offset, size)
    assert cu.status == status


def test_a_context_ends_with_the_last_of_its_users(cu: Drive) -> None:
    made = cu.cuCtxCreate(0, 0, 0)
    context = cu.model.context_at(made)
    assert context is not None
    cu.cuCtxAttach(0, gives=made)
    cu.cuCtxDetach(made)
    assert context.alive
    cu.cuCtxDetach(made)
    assert not context.alive and context.destroyed_by is cu.call
    cu.cuCtxDetach(0x1234)
    assert cu.model.context_at(0x1234) is None


def test_a_node_of_a_clone_has_the_type_of_the_node_that_it_was_made_from(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    node = cu.cuGraphAddEmptyNode(graph, 0, 0)
    clone = cu.cuGraphClone(graph)
    found = cu.model.find(Kind.GRAPH_NODE, cu.cuGraphNodeFindInClone(node, clone))
    assert isinstance(found, GraphNode)
    assert found.original is cu.model.find(Kind.GRAPH_NODE, node)
    assert node_type(found) == EMPTY


def test_the_types_of_a_graph_s_nodes_are_known_of_graphs_that_were_built(cu: Drive) -> None:
    handle = cu.cuGraphCreate(0)
    graph = cu.model.find(Kind.GRAPH, handle)
    assert isinstance(graph, Graph)
    assert node_types(graph) == ()
    cu.cuGraphAddEventRecordNode(handle, 0, 0, cu.cuEventCreate(0))
    cu.cuGraphAddEmptyNode(handle, 0, 0)
    assert node_types(graph) == (EMPTY, EVENT_RECORD)
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, 2)
    captured = cu.model.find(Kind.GRAPH, cu.cuStreamEndCapture(stream))
    assert isinstance(captured, Graph) and node_types(captured) is None
    clone = cu.model.find(Kind.GRAPH, cu.cuGraphClone(handle))
    assert isinstance(clone, Graph) and node_types(clone) is None


def test_a_library_s_handle_is_not_made_where_cuda_does_not_start() -> None:
    create, use = library_call("cublasCreate"), library_call("cublasGetVersion", 7)
    missing, lost = LIBRARIES["cublas"].cuda_missing, LIBRARIES["cublas"].context_lost
    assert missing
    assert Model(devices=0).predict(create).statuses == (missing,)
    assert Model(devices=1).predict(create).statuses == (0,)
    cu = drive().setup()
    assert cu.model.forked().predict(create).statuses == (missing,)
    cu.cuCtxSynchronize(status=700)
    assert cu.model.predict(create).statuses == (lost or 0,)
    assert cu.model.predict(use).statuses == (0,) or cu.model.predict(use).violations


def test_the_stream_that_a_library_s_handle_was_given_is_what_it_returns(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    cu.model.observe(library_call("cublasCreate"), Outcome(0, {0: 7}))
    asked = library_call("cublasGetStream", 7)
    assert isinstance(cu.model.find(Kind.CUBLAS_HANDLE, 7), LibraryObject)
    assert cu.model.predict(asked).outputs == {1: 0}
    cu.model.observe(library_call("cublasSetStream", 7, stream), Outcome(0))
    assert cu.model.predict(asked).outputs == {1: stream}
    assert cu.model.predict(library_call("cublasGetStream", 8)).outputs == {}


def test_a_refused_free_in_a_capture_leaves_its_mark_on_the_graph(cu: Drive) -> None:
    handle = cu.cuGraphCreate(0)
    graph = cu.model.find(Kind.GRAPH, handle)
    assert isinstance(graph, Graph)
    cu.cuGraphAddMemFreeNode(handle, 0, 0, 0x1234, status=700)
    assert not graph.allocates
    cu.cuGraphAddMemFreeNode(handle, 0, 0, 0x1234, status=1)
    assert graph.allocates


def test_an_event_that_is_recorded_outside_a_capture_is_external_no_more(cu: Drive) -> None:
    stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
    cu.cuStreamBeginCapture(stream, 2)
    cu.cuEventRecordWithFlags(event, stream, 1)
    found = cu.model.find(Kind.EVENT, event)
    assert isinstance(found, Event)
    assert found.external and found.captured is None
    cu.cuStreamEndCapture(stream)


def test_a_user_object_ends_with_its_last_reference(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    made = cu.cuUserObjectCreate(1, 2, 3, 1)
    found = cu.model.find(Kind.USER_OBJECT, made)
    owner = cu.model.find(Kind.GRAPH, graph)
    assert found is not None and isinstance(owner, Graph)
    cu.cuGraphRetainUserObject(graph, made, 2, 0)
    assert owner.owned[found] == 2
    cu.cuGraphReleaseUserObject(graph, made, 1)
    assert owner.owned[found] == 1 and not owner.released_too_often
    cu.cuGraphReleaseUserObject(graph, made, 2)
    assert owner.released_too_often


def test_a_lost_context_says_nothing_about_others_once_it_has_ended(cu: Drive) -> None:
    lost = cu.cuCtxCreate(0, 0, 0)
    cu.cuCtxSynchronize(status=700)
    error = cu.call
    cu.cuCtxSetCurrent(cu.model.primaries[0].handle)
    cu.cuCtxSynchronize(status=0)
    assert cu.call is not None and cu.model.sticky_error(cu.call) == (error, 700)
    cu.cuCtxDestroy(lost, status=0)
    cu.cuCtxSynchronize()
    assert (cu.model.sticky_error(cu.call), cu.status) == (None, 0)


def test_a_context_that_was_not_told_is_not_retained(cu: Drive) -> None:
    primary = cu.model.primaries[0]
    retained = primary.retained
    cu.cuDevicePrimaryCtxRetain(0, gives=0)
    assert (primary.retained, cu.model.primaries) == (retained, {0: primary})
    cu.cuDevicePrimaryCtxRetain(0)
    assert primary.retained == retained + 1


def test_an_attribute_of_memory_that_was_freed_may_be_refused(cu: Drive) -> None:
    memory = cu.cuMemAlloc(64)

    def statuses() -> tuple[int, ...]:
        cu.cuPointerSetAttribute(b"\1\0\0\0", 6, memory)
        assert cu.prediction is not None
        return cu.prediction.statuses

    assert statuses() == (0,)
    cu.cuMemFree(memory)
    assert statuses() == (0, 1)
