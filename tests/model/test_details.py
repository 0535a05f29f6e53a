"""What single calls return and leave behind, in cases that programs of rules do not reach."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from cuvet.catalog import driver, libraries
from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.roles import Kind
from cuvet.conformance.world import struct
from cuvet.findings import Site
from cuvet.model import Call, Model, Outcome
from cuvet.model.ledger import Ledger
from cuvet.model.library import cuda_missing, needs_cuda, not_made
from cuvet.model.nodes import node_type, node_types
from cuvet.model.objects import Event, Graph, GraphExec, GraphNode, LibraryObject, Linker, Stream

from .driving import Drive, array, drive

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


# Graphs.


def executable_at(cu: Drive, handle: int) -> GraphExec:
    found = cu.model.find(Kind.GRAPH_EXEC, handle)
    assert isinstance(found, GraphExec)
    return found


def captured_allocation(cu: Drive) -> int:
    """A graph that allocates memory, and does not free it."""
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, 2)
    cu.cuMemAllocAsync(4096, stream)
    return int(cu.cuStreamEndCapture(stream))


@pytest.mark.parametrize(
    ("how", "flags", "leaves"),
    [
        ("cuGraphInstantiate", (0, 0, 0), True),
        ("cuGraphInstantiateWithFlags", (0,), True),
        ("cuGraphInstantiateWithFlags", (1,), False),
        ("cuGraphInstantiateWithFlags", (2,), True),
        ("cuGraphInstantiateWithFlags", (3,), False),
        ("cuGraphInstantiateWithParams", (struct("CUDA_GRAPH_INSTANTIATE_PARAMS", flags=0),), True),
        ("cuGraphInstantiateWithParams", (struct("CUDA_GRAPH_INSTANTIATE_PARAMS", flags=1),), False),
        ("cuGraphInstantiateWithParams", (struct("CUDA_GRAPH_INSTANTIATE_PARAMS", flags=2),), True),
        ("cuGraphInstantiateWithParams", (0x1000,), False),
    ],
)
def test_a_launch_leaves_memory_unless_each_frees_what_the_one_before_left(
    cu: Drive, how: str, flags: tuple[object, ...], leaves: bool
) -> None:
    """CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH is 1; whether flags that were not seen have it is not known."""
    written = getattr(cu, how)(captured_allocation(cu), *flags, status=0)
    made = executable_at(cu, written[0] if isinstance(written, tuple) else written)
    assert made.leaves_memory is leaves and made.unique
    cu.cuGraphLaunch(made.handle, 0)
    assert (made.holds is cu.call) is leaves
    assert made.last_launch is cu.call and made.stream is not None and made.stream.legacy
    cu.cuMemFree(0x1234, status=0)
    assert made.holds is None


def test_a_graph_to_which_a_call_added_a_node_is_not_known_to_leave_memory(cu: Drive) -> None:
    handle = captured_allocation(cu)
    cu.cuGraphAddEmptyNode(handle, 0, 0)
    assert not executable_at(cu, cu.cuGraphInstantiateWithFlags(handle, 0)).leaves_memory


def test_nodes_that_allocate_more_than_they_free_leave_memory(cu: Drive) -> None:
    handle = cu.cuGraphCreate(0)
    pool = struct("CUDA_MEM_ALLOC_NODE_PARAMS", poolProps__allocType=1, poolProps__location__type=1, bytesize=4096)
    cu.cuGraphAddMemAllocNode(handle, 0, 0, pool, status=0)
    one = executable_at(cu, cu.cuGraphInstantiateWithFlags(handle, 0, status=0))
    assert one.leaves_memory and one.types == (10,)
    cu.cuGraphAddMemFreeNode(handle, 0, 0, 0xA000, status=0)
    both = executable_at(cu, cu.cuGraphInstantiateWithFlags(handle, 0, status=0))
    assert not both.leaves_memory and both.types == (10, 11)
    assert cu.model.graphs_allocate


def test_a_launch_that_may_free_memory_ends_what_is_known_to_be_held(cu: Drive) -> None:
    holding = executable_at(cu, cu.cuGraphInstantiateWithFlags(captured_allocation(cu), 0))
    plain, freeing = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
    cu.cuGraphAddEmptyNode(plain, 0, 0)
    cu.cuGraphAddMemFreeNode(freeing, 0, 0, 0xA000, status=0)
    for graph, held in ((plain, True), (freeing, False)):
        cu.cuGraphLaunch(holding.handle, 0, status=0)
        cu.cuGraphLaunch(cu.cuGraphInstantiateWithFlags(graph, 0), 0, status=0)
        assert (holding.holds is not None) is held


def test_what_a_child_graph_node_may_be_given(cu: Drive) -> None:
    outer, inner, other = (cu.cuGraphCreate(0) for _ in range(3))
    node, empty = cu.cuGraphAddChildGraphNode(outer, 0, 0, inner), cu.cuGraphAddEmptyNode(other, 0, 0)
    executable = cu.cuGraphInstantiateWithFlags(outer, 0)
    cu.cuGraphExecChildGraphNodeSetParams(executable, node, inner)
    assert cu.status == 0
    cu.cuGraphExecChildGraphNodeSetParams(executable, empty, inner)
    assert cu.status == 1
    cu.cuGraphExecChildGraphNodeSetParams(executable, empty, captured_allocation(cu))
    assert cu.prediction is not None and cu.prediction.statuses[0] == 910


def test_edges_of_nodes_that_are_not_known_are_none(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    first, second = cu.cuGraphAddEmptyNode(graph, 0, 0), cu.cuGraphAddEmptyNode(graph, 0, 0)
    cu.cuGraphAddDependencies(graph, array(first, 0x9999, second), array(0x9999, first, first), 0, 3, status=0)
    one, other = cu.model.find(Kind.GRAPH_NODE, first), cu.model.find(Kind.GRAPH_NODE, second)
    assert isinstance(one, GraphNode) and isinstance(other, GraphNode)
    assert one.waits_for == {other} and other.waits_for == set()
    cu.cuGraphDestroyNode(second)
    third = cu.cuGraphAddEmptyNode(graph, 0, 0)
    cu.cuGraphAddDependencies(graph, array(third), array(first), 0, 1)
    assert one.waits_for == {cu.model.find(Kind.GRAPH_NODE, third)}
    cu.cuGraphRemoveDependencies(graph, array(third), array(first), 0, 1)
    assert one.waits_for == set()


def test_events_of_an_executable_graph_are_those_that_are_certain(cu: Drive) -> None:
    graph, first, second = cu.cuGraphCreate(0), cu.cuEventCreate(0), cu.cuEventCreate(0)
    node = cu.cuGraphAddEventRecordNode(graph, 0, 0, first)
    made = executable_at(cu, cu.cuGraphInstantiateWithFlags(graph, 0))
    assert [each.handle for each in made.events] == [first]
    cu.cuGraphExecEventRecordNodeSetEvent(made.handle, node, second)
    assert [each.handle for each in made.events] == [second]
    cu.cuGraphExecUpdate(made.handle, graph, status=0)
    assert [each.handle for each in made.events] == [first]
    cu.cuGraphExecEventRecordNodeSetEvent(made.handle, node, 0xBEEF00, status=0)
    assert made.events == ()
    cu.cuGraphExecUpdate(made.handle, 0xBEEF00, status=0)
    assert made.events == ()
    cu.cuGraphEventRecordNodeSetEvent(node, 0xBEEF00, status=0)
    found = cu.model.find(Kind.GRAPH, graph)
    assert isinstance(found, Graph) and found.events == ()
    cu.cuGraphEventRecordNodeSetEvent(node, second)
    assert [each.handle for each in found.events] == [second]


def test_a_graph_is_damaged_by_references_that_it_never_had(cu: Drive) -> None:
    graph, thing = cu.cuGraphCreate(0), cu.cuUserObjectCreate(1, 2, 3, 1)
    owner, found = cu.model.find(Kind.GRAPH, graph), cu.model.find(Kind.USER_OBJECT, thing)
    assert isinstance(owner, Graph) and found is not None
    assert found.references == 3
    cu.cuUserObjectRetain(thing, 2)
    assert found.references == 5
    cu.cuUserObjectRelease(thing, 4)
    assert found.references == 1 and found.alive
    cu.cuGraphReleaseUserObject(graph, thing, 1, status=0)
    assert owner.released_too_often and not found.alive and found.destroyed_by is cu.call
    cu.cuGraphReleaseUserObject(graph, 0xBEEF00, 1, status=0)
    cu.cuGraphReleaseUserObject(0xBEEF00, thing, 1, status=0)
    cu.cuGraphRetainUserObject(0xBEEF00, thing, 1, 0, status=0)


def test_references_that_a_graph_gives_back_are_gone_from_it(cu: Drive) -> None:
    graph, thing = cu.cuGraphCreate(0), cu.cuUserObjectCreate(1, 2, 1, 1)
    owner, found = cu.model.find(Kind.GRAPH, graph), cu.model.find(Kind.USER_OBJECT, thing)
    assert isinstance(owner, Graph) and found is not None
    cu.cuGraphRetainUserObject(graph, thing, 1, 1)
    cu.cuGraphRetainUserObject(graph, thing, 2, 0)
    assert owner.owned == {found: 3}
    cu.cuGraphReleaseUserObject(graph, thing, 3)
    assert owner.owned == {} and not owner.released_too_often
    cu.cuUserObjectRelease(thing, 100)
    assert found.alive


def test_a_graph_s_launch_is_in_doubt_once_it_may_wait(cu: Drive) -> None:
    graph, other, stream = cu.cuGraphCreate(0), cu.cuGraphCreate(0), cu.cuStreamCreate(1)
    found = cu.model.find(Kind.STREAM, stream)
    assert isinstance(found, Stream)
    for waits in (False, True):
        cu.cuCtxSynchronize()
        cu.cuGraphLaunch(cu.cuGraphInstantiateWithFlags(graph, 0), stream)
        assert found.timeline is not None and found.timeline.uncertain is waits
        cu.cuCtxSynchronize()
        cu.cuGraphLaunch(cu.cuGraphInstantiateWithFlags(other, 0), stream)
        assert not found.timeline.uncertain
        cu.cuGraphAddHostNode(graph, 0, 0, 0x1000)


def test_any_graph_may_wait_once_a_host_node_was_added_to_one_that_is_not_known(cu: Drive) -> None:
    stream = cu.cuStreamCreate(1)
    cu.cuGraphAddHostNode(0x1234, 0, 0, 0x1000)
    cu.cuGraphLaunch(cu.cuGraphInstantiateWithFlags(cu.cuGraphCreate(0), 0), stream)
    found = cu.model.find(Kind.STREAM, stream)
    assert isinstance(found, Stream) and found.timeline is not None and found.timeline.uncertain


# Modules.


def test_a_function_is_asked_for_clusters_in_its_context(cu: Drive) -> None:
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b"image"), b"f\0")
    for name in ("cuOccupancyMaxActiveClusters", "cuOccupancyMaxPotentialClusterSize"):
        getattr(cu, name)(function, 0x1000)
        assert cu.status == 0
    cu.cuCtxCreate(0, 0, 0)
    for name in ("cuOccupancyMaxActiveClusters", "cuOccupancyMaxPotentialClusterSize"):
        getattr(cu, name)(function, 0x1000)
        assert cu.status == 400


def test_blocks_have_threads_and_not_too_many(cu: Drive) -> None:
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b"image"), b"f\0")
    for size, status in ((0, 1), (1, 0), (32, 0)):
        cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, size, 0)
        assert cu.status == status
    for size, status in ((1, 0), (1024, 0), (1025, 1)):
        cu.cuOccupancyAvailableDynamicSMemPerBlock(function, 1, size)
        assert cu.status == status


def test_shared_memory_of_a_block_is_not_less_than_nothing(cu: Drive) -> None:
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b"image"), b"f\0")
    for attribute, value, status in ((8, 4096, 0), (8, 0, 0), (8, -1, 1)):
        cu.cuFuncSetAttribute(function, attribute, value)
        assert cu.status == status
    cu.cuFuncSetAttribute(function, 9, -1)
    assert cu.status == 0


def test_what_is_added_to_a_linker(cu: Drive) -> None:
    linker = cu.cuLinkCreate(0, 0, 0)
    found = cu.model.find(Kind.LINKER, linker)
    assert isinstance(found, Linker) and found.added_by is None
    assert cu.model.predict(replace(adding(cu, linker), image=b"")).statuses == (0,)
    assert cu.model.predict(replace(adding(cu, linker), image=b"no text")).statuses == (200,)
    assert cu.model.predict(replace(adding(cu, linker), image=b"// a\n.version 7.0")).statuses == (0,)
    cu.cuLinkAddData(linker, 1, 0x1000, 10, 0x2000, 0, 0, 0)
    assert cu.model.predict(adding(cu, linker)).statuses == (0, 300, 999)
    assert found.added_by is cu.call
    cu.cuLinkComplete(linker)
    assert found.completed_by is cu.call
    assert cu.model.predict(adding(cu, linker)).statuses == (1,)
    assert cu.model.predict(adding(cu, 0xBEEF00)).statuses[0] in (0, 1, 400)


def adding(cu: Drive, linker: int) -> Call:
    """A call that is not made."""
    entry_point = driver()["cuLinkAddData"]
    return Call(entry_point, (linker, 1, 0x1000, 10, 0x2000, 0, 0, 0), thread=1, number=500)


# Streams.


def test_a_launch_is_one_of_the_current_context(cu: Drive) -> None:
    primary = cu.model.primaries[0]
    function = cu.cuModuleGetFunction(cu.cuModuleLoadData(b"image"), b"f\0")
    other = cu.model.context_at(cu.cuCtxCreate(0, 0, 0))
    cu.cuCtxPopCurrent()
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    assert other is not None
    assert primary.launched and not other.launched
    other.launched = True
    cu.cuCtxSynchronize()
    assert not primary.launched and other.launched
    cu.cuCtxPopCurrent()
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, status=0)
    assert not primary.launched


def test_a_copy_from_managed_memory_waits_as_one_from_the_host(cu: Drive) -> None:
    """And one between memory of devices does not wait at all (CUDA Driver API, API synchronization behavior)."""
    device, managed = cu.cuMemAlloc(4096), cu.cuMemAllocManaged(4096, 1)
    stream = cu.cuStreamCreate(0)
    for source, target, before, itself in (
        (device, device + 64, False, False),
        (managed, device, True, False),
        (device, managed, False, True),
    ):
        cu.cuMemsetD8Async(device, 0, 16, stream)
        earlier = cu.call
        cu.cuMemcpyDtoD(target, source, 16)
        copy = cu.call
        assert earlier is not None and copy is not None
        assert cu.model.finished(earlier) is (before or itself) and cu.model.finished(copy) is itself
        cu.cuCtxSynchronize()


# Libraries.


def test_what_could_not_be_made_is_remembered_until_one_of_its_kind_is(cu: Drive) -> None:
    create = library_call("cublasCreate")
    assert not_made(cu.model, create) == {}
    cu.model.observe(create, Outcome(1))
    assert not_made(cu.model, create) == {Kind.CUBLAS_HANDLE: (create, 1)}
    cu.model.observe(library_call("cudnnCreate"), Outcome(0, {0: 8}))
    assert not_made(cu.model, create) == {Kind.CUBLAS_HANDLE: (create, 1)}
    with cu.in_thread(2):
        cu.cuCtxGetCurrent()
        elsewhere = cu.call
    assert elsewhere is not None and not_made(cu.model, elsewhere) == {}
    cu.model.observe(create, Outcome(0, {0: 7}))
    assert not_made(cu.model, create) == {}


def test_a_library_that_cannot_start_says_so_in_its_own_words() -> None:
    assert cuda_missing(library_call("cublasCreate").entry_point) == LIBRARIES["cublas"].cuda_missing == 1
    assert cuda_missing(library_call("cudnnCreate").entry_point) == 1001
    assert needs_cuda(library_call("cublasSetStream").entry_point)
    assert not needs_cuda(library_call("cudnnCreateTensorDescriptor").entry_point)


# Calls.


def test_what_is_known_of_a_call_that_nobody_recorded() -> None:
    made = Call(driver()["cuStreamQuery"], (7,))
    assert (made.process, made.thread, made.number, made.time_ns, made.stack, made.shared_with) == (0,) * 6
    assert (made.name, made.asked, made.where()) == ("cuStreamQuery", "cuStreamQuery", "")
    assert made.arg("hStream") == 7
    site = Site(api="cudaStreamQuery", call=1, process=0, thread=0, time_ns=0)
    assert replace(made, site=site).asked == "cudaStreamQuery"
    assert not (made.per_thread or made.in_host_function or made.image_terminated or made.image or made.image_readable)


def test_memory_of_no_known_device_is_that_of_the_only_one(cu: Drive) -> None:
    for gpus, heap in (((80,), ("device", 0)), ((80, 80), ("device", None)), ((), ("device", None))):
        ledger = Ledger(gpus)
        assert ledger.heap_of(None) == heap and ledger.heap_of(1) == ("device", 1)
    ledger = Ledger((80, 40))
    assert [ledger.capacity_of(device) for device in (-1, 0, 1, 2)] == [0, 80, 40, 0]
