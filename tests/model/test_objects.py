"""Which object a call names, and how objects end."""

from __future__ import annotations

import pytest

from cuvet.catalog.roles import Kind
from cuvet.conformance.world import struct
from cuvet.model import Allocation, Context, Event, Function, GraphExec, Model, SeenHandle, Stream
from cuvet.model.naming import words_named
from cuvet.model.table import ObjectTable

from .driving import Drive, array, drive


@pytest.fixture
def cu() -> Drive:
    return drive().setup()


def test_a_handle_that_is_issued_again_is_another_object(cu: Drive) -> None:
    handle = cu.cuStreamCreate(0)
    old = cu.model.find(Kind.STREAM, handle)
    cu.cuStreamDestroy(handle)
    destroyed = cu.call
    assert cu.cuStreamCreate(0, gives=handle) == handle
    new = cu.model.find(Kind.STREAM, handle)
    assert old is not None
    assert new is not None
    assert (old.generation, new.generation) == (1, 2)
    assert (old.name, new.name) == ("stream#1", "stream#2")
    assert new.alive
    assert old.destroyed_by is destroyed


def test_the_generation_that_the_shim_saw_decides(cu: Drive) -> None:
    handle = cu.cuStreamCreate(0)
    old = cu.model.find(Kind.STREAM, handle)
    cu.cuStreamDestroy(handle)
    cu.cuStreamCreate(0, gives=handle)
    cu.cuStreamQuery(handle, seen={0: SeenHandle(Kind.STREAM, handle, 1, False)})
    assert cu.call is not None
    assert cu.model.object_of(cu.call, 0, Kind.STREAM) is old
    assert cu.model.stream_of(cu.call, 0) is old
    cu.cuStreamQuery(handle, seen={0: SeenHandle(Kind.STREAM, handle, 7, True)})
    assert cu.model.object_of(cu.call, 0, Kind.STREAM) is None


def test_what_the_shim_saw_alive_is_not_a_dead_one_of_another_count(cu: Drive) -> None:
    module = cu.cuModuleLoadData(b"image")
    function = cu.cuModuleGetFunction(module, b"name\0")
    cu.cuModuleUnload(module)
    cu.cuModuleGetFunction(cu.cuModuleLoadData(b"image"), b"name\0", gives=function)
    cu.cuFuncLoad(function, seen={0: SeenHandle(Kind.FUNCTION, function, 1, True)})
    assert cu.call is not None
    found = cu.model.object_of(cu.call, 0, Kind.FUNCTION)
    assert found is not None
    assert found.alive


def test_a_creation_over_a_living_object_loses_it(cu: Drive) -> None:
    handle = cu.cuEventCreate(0)
    lost = cu.model.find(Kind.EVENT, handle)
    cu.cuEventCreate(0, gives=handle)
    assert lost is not None
    assert lost.lost
    assert not lost.alive
    assert lost.destroyed_by is None
    assert [found.number for found in cu.model.objects(Kind.EVENT)] == [2]
    assert [found.number for found in cu.model.objects(Kind.EVENT, alive=False)] == [1, 2]


def test_what_was_never_seen_is_unknown(cu: Drive) -> None:
    cu.cuStreamQuery(0x1234500)
    assert cu.model.find(Kind.STREAM, 0x1234500) is None
    assert cu.prediction is not None
    assert all(violation.only_if_failed for violation in cu.prediction.violations)


def test_a_destroyed_context_ends_all_that_belongs_to_it() -> None:
    cu = drive()
    cu.cuInit(0)
    handle = cu.cuCtxCreate(0, 0, 0)
    made = {
        Kind.STREAM: cu.cuStreamCreate(0),
        Kind.EVENT: cu.cuEventCreate(0),
        Kind.MEMORY: cu.cuMemAlloc(64),
        Kind.HOST_MEMORY: cu.cuMemHostAlloc(64, 0),
        Kind.MODULE: cu.cuModuleLoadData(b"image"),
        Kind.ARRAY: cu.cuArrayCreate(b"\1" + b"\0" * 23),
    }
    made[Kind.FUNCTION] = cu.cuModuleGetFunction(made[Kind.MODULE], b"name\0")
    survivors = {Kind.GRAPH: cu.cuGraphCreate(0), Kind.CULIBRARY: cu.cuLibraryLoadData(b"image")}
    cu.cuCtxDestroy(handle)
    destroyed = cu.call
    context = cu.model.context_at(handle)
    for kind, word in made.items():
        found = cu.model.find(kind, word)
        assert found is not None
        assert found.destroyed_by is destroyed, kind
        assert found.killed_by is (
            context if kind is not Kind.FUNCTION else cu.model.find(Kind.MODULE, made[Kind.MODULE])
        )
    assert all(found.alive for kind, word in survivors.items() if (found := cu.model.find(kind, word)))
    assert context is not None
    assert not context.children


def test_a_function_ends_with_its_module_and_says_so(cu: Drive) -> None:
    module = cu.cuModuleLoadData(b"image")
    function = cu.cuModuleGetFunction(module, b"name\0")
    assert cu.cuModuleGetFunction(module, b"name\0", gives=function) == function
    found = cu.model.find(Kind.FUNCTION, function)
    assert isinstance(found, Function)
    assert (found.symbol, found.number) == ("name", 1)
    cu.cuModuleUnload(module)
    assert found.killed_by is cu.model.find(Kind.MODULE, module)
    assert found.parent is found.killed_by


def test_kernels_and_functions_are_found_as_either(cu: Drive) -> None:
    library = cu.cuLibraryLoadData(b"image")
    kernel = cu.cuLibraryGetKernel(library, b"name\0")
    function = cu.cuKernelGetFunction(kernel)
    assert cu.model.find(Kind.FUNCTION, kernel) is cu.model.find(Kind.KERNEL, kernel)
    assert cu.model.find(Kind.KERNEL, function) is cu.model.find(Kind.FUNCTION, function)
    module = cu.cuLibraryGetModule(library)
    cu.cuLibraryUnload(library)
    for kind, handle in ((Kind.KERNEL, kernel), (Kind.FUNCTION, function), (Kind.MODULE, module)):
        found = cu.model.find(kind, handle)
        assert found is not None
        assert not found.alive


def test_nodes_end_with_their_graph_and_executable_graphs_do_not(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    node = cu.cuGraphAddEmptyNode(graph, 0, 0)
    executable = cu.cuGraphInstantiateWithFlags(graph, 0)
    cu.cuGraphLaunch(executable, 0)
    launch = cu.call
    cu.cuGraphDestroy(graph)
    found = cu.model.find(Kind.GRAPH_NODE, node)
    assert found is not None
    assert found.killed_by is cu.model.find(Kind.GRAPH, graph)
    made = cu.model.find(Kind.GRAPH_EXEC, executable)
    assert isinstance(made, GraphExec)
    assert made.alive
    assert made.graph is found.killed_by
    assert made.last_launch is launch


def test_counted_handles_end_with_the_last_release(cu: Drive) -> None:
    handle = cu.cuMemCreate(1 << 21, b"\1\0\0\0\0\0\0\0\1" + b"\0" * 23, 0)
    cu.cuMemRetainAllocationHandle(0x1000, gives=handle, status=0)
    held = cu.model.find(Kind.MEMORY_HANDLE, handle)
    assert held is not None
    cu.cuMemRelease(handle)
    assert held.alive
    cu.cuMemRelease(handle)
    assert not held.alive


def test_a_failed_call_changes_nothing(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    cu.cuStreamDestroy(stream, status=400)
    cu.cuStreamCreate(0, status=2)
    (found,) = cu.model.objects(Kind.STREAM)
    assert found.handle == stream
    assert cu.model.last_failure(cu.thread) == (cu.call, 2)


def test_a_call_that_did_not_return_counts_as_made(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    cu.cuStreamDestroy(stream, died=True)
    found = cu.model.find(Kind.STREAM, stream)
    assert found is not None
    assert found.destroyed_by is cu.call


def test_other_kinds_of_the_same_handle(cu: Drive) -> None:
    handle = cu.cuStreamCreate(0)
    assert cu.model.kinds_of(handle) == (cu.model.find(Kind.STREAM, handle),)


def test_a_forked_child_can_use_nothing_of_its_parent(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    initialised = cu.model.initialised_by
    child = cu.model.forked()
    assert child.initialised_before_fork is initialised
    assert child.initialised_by is None
    assert child.find(Kind.STREAM, stream) is None
    assert Model().forked().initialised_before_fork is None


def test_arrays_of_handles_and_members_of_structs(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    nodes = [cu.cuGraphAddEmptyNode(graph, 0, 0) for _ in range(2)]
    cu.cuGraphAddEmptyNode(graph, b"".join(node.to_bytes(8, "little") for node in nodes), 2)
    assert cu.call is not None
    (role,) = (role for role in cu.call.entry_point.roles if role.count)
    assert [found.handle for found in cu.model.objects_named(cu.call, role)] == nodes
    stream = cu.cuStreamCreate(0)
    cu.cuLaunchKernelEx(b"\0" * 32 + stream.to_bytes(8, "little") + b"\0" * 16, 0, 0, 0, status=400)
    assert cu.model.stream_on(cu.call) is cu.model.find(Kind.STREAM, stream)


def test_stream_ordered_memory_outlives_a_user_context() -> None:
    cu = drive()
    cu.cuInit(0)
    context = cu.cuCtxCreate(0, 0, 0)
    memory = cu.cuMemAllocAsync(64, 0)
    cu.cuCtxDestroy(context)
    found = cu.model.find(Kind.MEMORY, memory)
    assert isinstance(found, Allocation)
    assert found.alive
    assert isinstance(found.stream, Stream)
    assert isinstance(found.context, Context)


def texture(cu: Drive, number: int) -> int:
    array = cu.cuArrayCreate(struct("CUDA_ARRAY_DESCRIPTOR", Width=64, Height=64, Format=32, NumChannels=1))
    made: int = cu.cuTexObjectCreate(
        struct("CUDA_RESOURCE_DESC", res__array__hArray=array), bytes(104), 0, gives=number
    )
    return made


def test_textures_are_numbered_in_each_context(cu: Drive) -> None:
    def known(number: int) -> bool:
        cu.cuTexObjectGetResourceDesc(bytes(144), number)
        return cu.status == 0

    texture(cu, 1)
    texture(cu, 2)
    first = cu.cuCtxGetCurrent()
    second = cu.cuCtxCreate(0, 0, 0)
    assert not known(1)
    texture(cu, 1)
    assert known(1) and not known(2)
    cu.cuTexObjectDestroy(2)
    assert cu.status == 0
    cu.cuCtxSetCurrent(first)
    assert known(1) and known(2)
    cu.cuTexObjectDestroy(1)
    assert not known(1)
    cu.cuCtxSetCurrent(second)
    assert known(1)


def test_a_graph_that_gives_up_what_it_never_had_may_take_the_process_with_it(cu: Drive) -> None:
    for owned in (True, False):
        graph, thing = cu.cuGraphCreate(0), cu.cuUserObjectCreate(0, 0x1000, 2, 1)
        if owned:
            cu.cuGraphRetainUserObject(graph, thing, 1, 0)
        cu.cuGraphReleaseUserObject(graph, thing, 1)
        cu.cuGraphDestroy(graph)
        assert cu.prediction is not None
        assert cu.prediction.statuses == ((0,) if owned else (0, -11))


def test_the_node_of_a_clone_is_of_the_type_of_its_original(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    node = cu.cuGraphAddEmptyNode(graph, 0, 0)
    clone = cu.cuGraphClone(graph)
    found = cu.cuGraphNodeFindInClone(node, clone)
    cu.cuGraphNodeGetEnabled(cu.cuGraphInstantiateWithFlags(clone, 0), found)
    assert cu.status == 1
    later = cu.cuGraphAddEmptyNode(graph, 0, 0)
    cu.cuGraphNodeFindInClone(later, clone)
    assert cu.status == 1


def test_a_handle_that_the_driver_takes_though_its_object_ended_names_another_one(cu: Drive) -> None:
    """Libraries make objects past the shim."""
    for own_context in (True, False):
        made_in = cu.cuCtxCreate(0, 0, 0)
        handle = cu.cuStreamCreate(0)
        cu.cuStreamDestroy(handle)
        dead = cu.model.find(Kind.STREAM, handle)
        if not own_context:
            cu.cuCtxDestroy(made_in)
        cu.cuStreamSynchronize(handle)
        assert cu.call is not None and cu.prediction is not None and dead is not None
        cu.model.accept(cu.call, cu.prediction.violations[0])
        found = cu.model.find(Kind.STREAM, handle)
        assert isinstance(found, Stream) and found is not dead and found.alive
        assert (found.generation, found.device) == (2, 0)
        assert found.context is (dead.context if own_context else cu.model.current_context(cu.call))
        cu.model.accept(cu.call, cu.prediction.violations[0])
        assert cu.model.find(Kind.STREAM, handle) is found


def test_memory_that_the_driver_takes_though_it_was_freed_is_no_new_object(cu: Drive) -> None:
    memory = cu.cuMemAlloc(64)
    cu.cuMemFree(memory)
    cu.cuMemFree(memory)
    assert cu.call is not None and cu.prediction is not None
    cu.model.accept(cu.call, cu.prediction.violations[0])
    assert list(cu.model.objects(Kind.MEMORY)) == []


def test_a_context_that_the_driver_takes_though_it_ended_is_back_where_it_is_current(cu: Drive) -> None:
    handle = cu.cuCtxCreate(0, 8, 0)
    dead = cu.model.context_at(handle)
    with cu.in_thread(2):
        cu.cuCtxSetCurrent(handle)
    cu.cuCtxDestroy(handle)
    with cu.in_thread(2):
        cu.cuMemAlloc(64)
        assert cu.call is not None and cu.prediction is not None
        cu.model.accept(cu.call, cu.prediction.violations[0])
        back = cu.model.context_at(handle)
        assert back is not None and back is not dead and back.alive
        assert (back.device, back.flags) == (0, dead.flags if dead else None)
        assert back.created_by is cu.call
        assert cu.model.threads_of(back) == (2,)
        cu.cuMemAlloc(64)
        assert cu.status == 0


def test_what_is_made_in_a_context_that_ended_shows_that_its_handle_is_another_ones(cu: Drive) -> None:
    handle = cu.cuCtxCreate(0, 0, 0)
    with cu.in_thread(2):
        cu.cuCtxSetCurrent(handle)
    cu.cuCtxDestroy(handle)
    with cu.in_thread(2):
        stream = cu.model.find(Kind.STREAM, cu.cuStreamCreate(0, status=0))
        back = cu.model.context_at(handle)
        assert back is not None and back.alive and stream is not None
        assert stream.parent is back and cu.model.threads_of(back) == (2,)


def test_what_belongs_to_a_lost_object_is_lost_with_it(cu: Drive) -> None:
    module = cu.cuModuleLoadData(b"image")
    function = cu.model.find(Kind.FUNCTION, cu.cuModuleGetFunction(module, b"name\0"))
    old = cu.model.find(Kind.MODULE, module)
    cu.cuModuleLoadData(b"image", gives=module)
    assert function is not None and old is not None
    assert old.lost and function.lost and not old.children
    assert cu.model.find(Kind.MODULE, module) is not old


def test_counts_of_objects_go_on_after_repeats_that_were_not_looked_at(cu: Drive) -> None:
    cu.cuEventCreate(0)
    table = cu.model.table
    before = table.counts()
    table.skip(tuple(int(kind == Kind.EVENT) * 5 for kind in range(len(before))))
    assert table.count(Kind.EVENT) == 6 and table.count(Kind.CONTEXT) == before[Kind.CONTEXT]
    found = cu.model.find(Kind.EVENT, cu.cuEventCreate(0))
    assert found is not None and found.name == "event#7"


def test_an_object_that_ends_after_its_handle_names_another_takes_nothing_from_that() -> None:
    table = ObjectTable(remembered=1)
    first, second = (table.add(Event, Kind.EVENT, 1, 0) for _ in range(2))
    table.end(first)
    for handle in (2, 3):
        table.end(table.add(Event, Kind.EVENT, handle, 0))
    table.end(first)
    assert table.find(Kind.EVENT, 1) is second
    assert table.alive()[Kind.EVENT] == 1


def test_of_a_forgotten_handle_no_former_object_is_left() -> None:
    table = ObjectTable(remembered=1)
    for handle in (1, 1, 2):
        table.end(table.add(Event, Kind.EVENT, handle, 0))
    assert [each.handle for each in table.all(Kind.EVENT, alive=False)] == [2]


def test_the_newest_object_of_a_number_ended_with_its_context(cu: Drive) -> None:
    """Textures are numbered in each context; what named one of a context that is gone names nothing else."""
    cu.cuCtxCreate(0, 0, 0)
    texture = cu.cuTexObjectCreate(0x1000, 0x2000, 0, gives=1)
    found = next(cu.model.objects(Kind.TEXTURE_OBJECT))
    cu.cuCtxDestroy(cu.cuCtxGetCurrent())
    cu.cuTexObjectDestroy(texture)
    assert cu.call is not None
    assert cu.model.object_of(cu.call, 0, Kind.TEXTURE_OBJECT) is found and not found.alive


def test_nodes_and_events_in_structs_are_found(cu: Drive) -> None:
    graph, event = cu.cuGraphCreate(0), cu.cuEventCreate(0)
    for type, found in ((7, cu.model.find(Kind.EVENT, event)), (5, None)):
        cu.cuGraphAddNode(graph, 0, 0, 0, struct("CUgraphNodeParams", type=type, eventRecord__event=event))
        assert cu.call is not None
        roles = [role for role in cu.call.entry_point.roles if role.kind is Kind.EVENT]
        named = [cu.model.object_named(cu.call, role) for role in roles]
        assert [each for each in named if each is not None] == ([] if found is None else [found])


def test_handles_that_a_call_is_to_write_are_not_named_by_it(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    cu.cuGraphGetNodes(graph, array(0x1111), array(1))
    assert cu.call is not None
    (role,) = (role for role in cu.call.entry_point.roles if role.count)
    assert words_named(cu.call, role) == () and cu.model.objects_named(cu.call, role) == ()


def test_an_array_of_handles_is_as_long_as_its_count_and_its_bytes(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    nodes = [cu.cuGraphAddEmptyNode(graph, 0, 0) for _ in range(3)]
    for count, given, expected in ((2, 3, 2), (3, 2, 2), (0, 3, 0)):
        cu.cuGraphAddEmptyNode(graph, array(*nodes[:given]), count)
        assert cu.call is not None
        (role,) = (role for role in cu.call.entry_point.roles if role.parameter == "dependencies")
        assert words_named(cu.call, role) == tuple(nodes[:expected])
