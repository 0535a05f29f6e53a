"""What calls return that break no rule, where that follows from the memory, events, graphs or modules that they name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuvet.conformance.world import struct
from cuvet.model import Model

from .driving import Drive, array, drive

NOWHERE = 0xBEEF00
INVALID_VALUE, DESTROYED, INVALID_CONTEXT, INVALID_HANDLE, NOT_FOUND, NOT_READY = 1, 709, 201, 400, 500, 600
MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, SYNC_MEMOPS = 2, 3, 4, 6


@pytest.fixture
def cu() -> Drive:
    return drive(Model(devices=2, complete=True)).setup()


def answers(cu: Drive, name: str, *words: object) -> tuple[int, ...]:
    """The call is made, and ends as is likeliest."""
    getattr(cu, name)(*words)
    assert cu.prediction is not None
    return cu.prediction.statuses


# Addresses.


def linear(cu: Drive) -> int:
    return int(cu.cuMemAlloc(4096))


def managed(cu: Drive) -> int:
    return int(cu.cuMemAllocManaged(4096, 1))


def pinned(cu: Drive) -> int:
    return int(cu.cuMemHostAlloc(4096, 0))


def pitched(cu: Drive) -> int:
    return int(cu.cuMemAllocPitch(64, 4, 4)[0])


def unpinned(cu: Drive) -> int:
    address = pinned(cu)
    cu.cuMemFreeHost(address)
    return address


def freed(cu: Drive) -> int:
    address = linear(cu)
    cu.cuMemFree(address)
    return address


def freed_in_stream_order(cu: Drive) -> int:
    address = linear(cu)
    cu.cuMemFreeAsync(address, 0)
    return address


def pitched_and_freed_in_stream_order(cu: Drive) -> int:
    address = pitched(cu)
    cu.cuMemFreeAsync(address, 0)
    return address


def pooled(cu: Drive) -> int:
    return int(cu.cuMemAllocAsync(4096, 0))


def pooled_and_freed(cu: Drive) -> int:
    address = pooled(cu)
    cu.cuMemFreeAsync(address, 0)
    return address


def of_graph(cu: Drive) -> int:
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, 2)
    address = cu.cuMemAllocAsync(4096, stream)
    graph = cu.cuStreamEndCapture(stream)
    cu.cuGraphLaunch(cu.cuGraphInstantiateWithFlags(graph, 0), stream)
    return int(address)


def elsewhere(cu: Drive) -> int:
    """On another device than the current one."""
    cu.cuCtxPushCurrent(cu.cuDevicePrimaryCtxRetain(1))
    address = linear(cu)
    cu.cuCtxPopCurrent()
    return address


def mapped(cu: Drive) -> int:
    address, handle = 0x7A0000000000, cu.cuMemCreate(1 << 21, b"", 0)
    cu.cuMemMap(address, 1 << 21, 0, handle, 0)
    return address


def unmapped(cu: Drive) -> int:
    address = mapped(cu)
    cu.cuMemUnmap(address, 1 << 21)
    return address


def unknown(cu: Drive) -> int:
    return NOWHERE


Maker = Callable[[Drive], int]


@pytest.mark.parametrize(
    ("make", "statuses"),
    [
        (linear, (0,)),
        (managed, (0,)),
        (pinned, (0,)),
        (unpinned, (NOT_FOUND,)),
        (freed, (NOT_FOUND, 0)),
        (of_graph, (NOT_FOUND, 0)),
        (elsewhere, (0, NOT_FOUND)),
        (unknown, (NOT_FOUND,)),
    ],
)
def test_the_range_of_an_address(cu: Drive, make: Maker, statuses: tuple[int, ...]) -> None:
    assert answers(cu, "cuMemGetAddressRange", make(cu)) == statuses


@pytest.mark.parametrize(
    ("attribute", "make", "statuses"),
    [
        (MEMORY_TYPE, linear, (0,)),
        (MEMORY_TYPE, elsewhere, (0,)),
        (MEMORY_TYPE, pinned, (0,)),
        (MEMORY_TYPE, unpinned, (INVALID_VALUE,)),
        (MEMORY_TYPE, freed, (INVALID_VALUE,)),
        (MEMORY_TYPE, freed_in_stream_order, (INVALID_VALUE, 0)),
        (MEMORY_TYPE, pitched_and_freed_in_stream_order, (INVALID_VALUE, 0)),
        (MEMORY_TYPE, pooled, (0,)),
        (MEMORY_TYPE, pooled_and_freed, (INVALID_VALUE,)),
        (MEMORY_TYPE, of_graph, (INVALID_VALUE,)),
        (MEMORY_TYPE, unknown, (INVALID_VALUE,)),
        (DEVICE_POINTER, linear, (0,)),
        (DEVICE_POINTER, elsewhere, (INVALID_VALUE,)),
        (DEVICE_POINTER, managed, (0,)),
        (DEVICE_POINTER, pinned, (0,)),
        (HOST_POINTER, linear, (INVALID_VALUE,)),
        (HOST_POINTER, managed, (0,)),
        (HOST_POINTER, pinned, (0,)),
        (0, linear, (INVALID_VALUE,)),
        (0, pinned, (INVALID_VALUE,)),
    ],
)
def test_attributes_of_an_address(cu: Drive, attribute: int, make: Maker, statuses: tuple[int, ...]) -> None:
    assert answers(cu, "cuPointerGetAttribute", 0x1000, attribute, make(cu)) == statuses


def test_a_device_pointer_is_that_of_a_living_context(cu: Drive) -> None:
    address = linear(cu)
    other = cu.cuCtxCreate(0, 0, 0)
    with cu.in_thread(2):
        cu.cuCtxDestroy(other)
    assert answers(cu, "cuPointerGetAttribute", 0x1000, DEVICE_POINTER, address) == (INVALID_CONTEXT,)
    assert answers(cu, "cuPointerGetAttribute", 0x1000, MEMORY_TYPE, address) == (0,)
    cu.cuCtxPopCurrent()
    cu.cuCtxPopCurrent()
    assert answers(cu, "cuPointerGetAttribute", 0x1000, DEVICE_POINTER, address) == (0, INVALID_CONTEXT)


@pytest.mark.parametrize(
    ("asked", "status"), [((1, 2, 9), 0), ((1, 0), INVALID_VALUE), ((0, 1), INVALID_VALUE), ((), 0)]
)
def test_several_attributes_of_an_address_are_all_known(cu: Drive, asked: tuple[int, ...], status: int) -> None:
    attributes = b"".join(each.to_bytes(4, "little") for each in asked)
    assert answers(cu, "cuPointerGetAttributes", len(asked), attributes, 0x1000, linear(cu)) == (status,)


@pytest.mark.parametrize(
    ("make", "statuses"),
    [(linear, (0,)), (freed, (0, INVALID_VALUE)), (of_graph, (0, INVALID_VALUE)), (unknown, (0,))],
)
def test_an_attribute_is_set_for_memory_that_is_there(cu: Drive, make: Maker, statuses: tuple[int, ...]) -> None:
    address = make(cu)
    assert answers(cu, "cuPointerSetAttribute", b"\1\0\0\0", SYNC_MEMOPS, address) == statuses
    other = cu.cuCtxCreate(0, 0, 0)
    with cu.in_thread(2):
        cu.cuCtxDestroy(other)
    assert answers(cu, "cuPointerSetAttribute", b"\1\0\0\0", SYNC_MEMOPS, address) == (INVALID_VALUE,)


@pytest.mark.parametrize(
    ("make", "status"),
    [(mapped, 0), (unmapped, INVALID_VALUE), (linear, INVALID_VALUE), (unknown, INVALID_VALUE)],
)
def test_only_mapped_memory_has_access_rights(cu: Drive, make: Maker, status: int) -> None:
    assert answers(cu, "cuMemGetAccess", struct("CUmemLocation", type=1), make(cu)) == (status,)


@pytest.mark.parametrize(("make", "status"), [(pinned, 0), (unpinned, INVALID_VALUE), (linear, INVALID_VALUE)])
def test_only_pinned_memory_has_flags(cu: Drive, make: Maker, status: int) -> None:
    assert answers(cu, "cuMemHostGetFlags", make(cu)) == (status,)


@pytest.mark.parametrize(
    ("name", "make", "statuses"),
    [
        ("cuMemFree", linear, (0,)),
        ("cuMemFree", of_graph, (0, INVALID_VALUE)),
        ("cuMemFreeAsync", linear, (0,)),
        ("cuMemFreeAsync", of_graph, (0, INVALID_VALUE)),
    ],
)
def test_memory_that_a_graph_allocates_may_be_there_or_not(
    cu: Drive, name: str, make: Maker, statuses: tuple[int, ...]
) -> None:
    assert answers(cu, name, make(cu), 0) == statuses


def test_nothing_is_freed_by_cumemfree_alone(cu: Drive) -> None:
    assert answers(cu, "cuMemFree", 0) == (0,)


def test_copies_of_memory_that_a_graph_allocates_may_fail_or_end_the_process(cu: Drive) -> None:
    address, memory = of_graph(cu), linear(cu)
    assert answers(cu, "cuMemsetD8", address, 0, 16) == (0, INVALID_VALUE)
    assert answers(cu, "cuMemcpy", memory, address, 16) == (0, INVALID_VALUE, -11)
    assert answers(cu, "cuMemcpyDtoD", memory, address, 16) == (0, INVALID_VALUE)
    assert answers(cu, "cuMemcpyDtoD", memory, memory + 64, 16) == (0,)
    stream = cu.cuStreamCreate(1)
    assert answers(cu, "cuMemsetD8Async", address, 0, 16, stream) == (0, INVALID_VALUE)
    cu.cuStreamBeginCapture(stream, 2)
    assert answers(cu, "cuMemsetD8Async", address, 0, 16, stream) == (0,)


def outputs(cu: Drive, name: str, *words: object) -> dict[int, int]:
    """What the model knows that the call writes, by parameter index."""
    getattr(cu, name)(*words)
    assert cu.prediction is not None
    return cu.prediction.outputs


# Events and streams.


def test_the_time_between_events_is_known_once_both_are_done(cu: Drive) -> None:
    start, end, stream = cu.cuEventCreate(0), cu.cuEventCreate(0), cu.cuStreamCreate(1)
    for event in (start, end):
        cu.cuEventRecord(event, stream)
    assert answers(cu, "cuEventElapsedTime", start, end) == (0, NOT_READY)
    cu.cuEventSynchronize(end)
    assert answers(cu, "cuEventElapsedTime", start, end) == (0,)
    cu.cuEventRecord(start, stream)
    assert answers(cu, "cuEventElapsedTime", start, end) == (0, NOT_READY)


def test_whether_a_graph_has_recorded_an_event_is_not_seen(cu: Drive) -> None:
    graph, external, event = cu.cuGraphCreate(0), cu.cuEventCreate(0), cu.cuEventCreate(0)
    cu.cuEventRecord(event, 0)
    cu.cuCtxSynchronize()
    cu.cuGraphAddEventRecordNode(graph, 0, 0, external)
    assert answers(cu, "cuEventElapsedTime", event, external) == (INVALID_HANDLE, 0, NOT_READY)
    assert answers(cu, "cuEventElapsedTime", external, event) == (INVALID_HANDLE, 0, NOT_READY)
    cu.cuEventRecord(external, 0)
    cu.cuEventSynchronize(external)
    assert answers(cu, "cuEventElapsedTime", event, external) == (0,)


def test_of_an_event_of_all_streams_it_is_never_known_that_it_is_done(cu: Drive) -> None:
    event = cu.cuEventCreate(2)
    assert answers(cu, "cuEventQuery", event) == (0,)
    cu.cuCtxRecordEvent(cu.model.primaries[0].handle, event)
    cu.cuCtxSynchronize()
    assert answers(cu, "cuEventQuery", event) == (0, NOT_READY)


@pytest.mark.parametrize("complete", [True, False])
def test_a_query_finds_work_that_was_seen_or_may_have_been_there(complete: bool) -> None:
    cu = drive(Model(complete=complete)).setup()
    stream, event = cu.cuStreamCreate(1), cu.cuEventCreate(0)
    idle = (0,) if complete else (0, NOT_READY)
    assert answers(cu, "cuStreamQuery", stream) == idle
    assert answers(cu, "cuStreamQuery", 0) == (0, NOT_READY)
    assert answers(cu, "cuEventQuery", event) == idle
    cu.cuEventRecord(event, stream)
    assert answers(cu, "cuEventQuery", event) == (0, NOT_READY)
    cu.cuMemsetD8Async(linear(cu), 0, 16, stream)
    assert answers(cu, "cuStreamQuery", stream) == (0, NOT_READY)


def test_what_a_stream_is_told_of_itself(cu: Drive) -> None:
    context, stream = cu.model.primaries[0].handle, cu.cuStreamCreate(1)
    assert outputs(cu, "cuStreamGetFlags", stream) == {1: 1}
    assert outputs(cu, "cuStreamGetFlags", 0) == {1: 0}
    assert outputs(cu, "cuStreamGetFlags", NOWHERE) == {}
    assert outputs(cu, "cuStreamGetCtx", stream) == {1: context}
    assert outputs(cu, "cuStreamGetCtx", 0) == {1: context}
    assert outputs(cu, "cuStreamGetCtx", NOWHERE) == {}
    green = cu.cuGreenCtxCreate(0, 0, 1)
    of_green = cu.cuGreenCtxStreamCreate(green, 1, 0)
    assert outputs(cu, "cuStreamGetCtx", of_green) == {}
    assert outputs(cu, "cuStreamGetFlags", of_green) == {1: 1}
    cu.cuCtxSetCurrent(cu.cuCtxFromGreenCtx(green))
    assert outputs(cu, "cuStreamGetCtx", 0) == outputs(cu, "cuStreamGetFlags", 0) == {}
    assert outputs(cu, "cuStreamGetCtx", stream) == {1: context}


def test_whether_a_stream_captures_and_into_what(cu: Drive) -> None:
    stream, graph = cu.cuStreamCreate(1), cu.cuGraphCreate(0)
    assert outputs(cu, "cuStreamIsCapturing", stream) == {1: 0}
    cu.cuStreamBeginCaptureToGraph(stream, graph, 0, 0, 0, 2)
    assert outputs(cu, "cuStreamIsCapturing", stream) == {1: 1}
    assert outputs(cu, "cuStreamEndCapture", stream) == {1: graph}
    cu.cuStreamBeginCapture(stream, 2)
    cu.cuStreamSynchronize(stream)
    assert cu.status == 900
    assert outputs(cu, "cuStreamIsCapturing", stream) == {1: 2}
    assert outputs(cu, "cuStreamEndCapture", stream) == {}
    assert outputs(cu, "cuStreamIsCapturing", NOWHERE) == {}


# Contexts, devices, pools.


def test_a_device_is_reset_when_no_green_context_holds_it(cu: Drive) -> None:
    green = cu.cuGreenCtxCreate(0, 0, 1)
    assert answers(cu, "cuDevicePrimaryCtxReset", 0) == (800,)
    assert answers(cu, "cuDevicePrimaryCtxReset", 1) == (0,)
    cu.cuGreenCtxDestroy(green)
    assert answers(cu, "cuDevicePrimaryCtxReset", 0) == (0,)


def test_the_last_context_is_popped_and_then_there_is_none(cu: Drive) -> None:
    assert answers(cu, "cuCtxPopCurrent") == (0,)
    assert answers(cu, "cuCtxPopCurrent") == (INVALID_CONTEXT,)
    cu.model.complete = cu.model.all_work = False
    assert answers(cu, "cuCtxPopCurrent") == (0,)


def test_what_contexts_tell_of_themselves(cu: Drive) -> None:
    primary = cu.model.primaries[0]
    assert outputs(cu, "cuCtxGetCurrent") == {0: primary.handle}
    assert outputs(cu, "cuCtxGetDevice") == {0: 0}
    assert outputs(cu, "cuDevicePrimaryCtxRetain", 0) == {0: primary.handle}
    assert outputs(cu, "cuDevicePrimaryCtxGetState", 1) == {1: 0, 2: 0}
    cu.cuDevicePrimaryCtxSetFlags(0, 4)
    assert outputs(cu, "cuDevicePrimaryCtxGetState", 0) == {1: 4, 2: 1}
    cu.cuDevicePrimaryCtxReset(0)
    assert outputs(cu, "cuDevicePrimaryCtxGetState", 0) == {1: 4, 2: 0}
    cu.cuCtxPopCurrent()
    assert outputs(cu, "cuCtxGetCurrent") == {0: 0}
    assert outputs(cu, "cuCtxGetDevice") == {}


def test_attributes_of_two_devices_are_of_two(cu: Drive) -> None:
    assert outputs(cu, "cuDeviceGetCount") == {0: 2}
    assert outputs(cu, "cuDeviceGet", 1) == {0: 1}
    assert answers(cu, "cuDeviceGetP2PAttribute", 1, 0, 1) == (0,)
    assert answers(cu, "cuDeviceGetP2PAttribute", 1, 1, 1) == (101,)
    assert answers(cu, "cuDeviceGetP2PAttribute", 0x77, 0, 1) == (INVALID_VALUE,)


def pool_of(cu: Drive, device: int) -> int:
    return int(cu.cuMemPoolCreate(struct("CUmemPoolProps", allocType=1, location__type=1, location__id=device)))


def test_a_device_takes_its_own_pools_only(cu: Drive) -> None:
    here, there = pool_of(cu, 0), pool_of(cu, 1)
    assert answers(cu, "cuDeviceSetMemPool", 0, here) == (0,)
    assert answers(cu, "cuDeviceSetMemPool", 0, there) == (INVALID_VALUE,)
    assert answers(cu, "cuDeviceSetMemPool", 1, there) == (0,)
    assert answers(cu, "cuMemSetMemPool", struct("CUmemLocation", type=1, id=0), 1, there) == (INVALID_VALUE,)
    assert answers(cu, "cuMemSetMemPool", struct("CUmemLocation", type=1, id=1), 1, there) == (0,)
    assert answers(cu, "cuMemSetMemPool", 0x1000, 1, there) == (0,)
    default = cu.cuDeviceGetDefaultMemPool(0)
    assert answers(cu, "cuDeviceSetMemPool", 0, default) == (0,)
    assert outputs(cu, "cuDeviceGetDefaultMemPool", 0) == {0: default}
    assert outputs(cu, "cuDeviceGetDefaultMemPool", 1) == {}


# Graphs.

EVENT_WAIT, EVENT_RECORD, KERNEL = 6, 7, 0


def test_an_event_node_needs_an_event(cu: Drive) -> None:
    graph, event = cu.cuGraphCreate(0), cu.cuEventCreate(0)
    for type, name in ((EVENT_WAIT, "eventWait__event"), (EVENT_RECORD, "eventRecord__event")):
        for given, status in ((event, 0), (0, INVALID_VALUE)):
            params = struct("CUgraphNodeParams", type=type, **{name: given})
            assert answers(cu, "cuGraphAddNode", graph, 0, 0, 0, params) == (status,)


def test_a_node_depends_once_on_nodes_of_its_graph(cu: Drive) -> None:
    graph, other = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
    first, second = cu.cuGraphAddEmptyNode(graph, 0, 0), cu.cuGraphAddEmptyNode(graph, 0, 0)
    foreign = cu.cuGraphAddEmptyNode(other, 0, 0)
    assert answers(cu, "cuGraphAddEmptyNode", graph, array(first, second), 2) == (0,)
    assert answers(cu, "cuGraphAddEmptyNode", graph, array(first, first), 2) == (INVALID_VALUE,)
    assert answers(cu, "cuGraphAddEmptyNode", graph, array(first, first), 1) == (0,)
    assert answers(cu, "cuGraphAddEmptyNode", graph, array(first, foreign), 2) == (INVALID_VALUE,)
    assert answers(cu, "cuGraphAddDependencies", graph, array(first), array(first), 0, 1) == (INVALID_VALUE,)
    assert answers(cu, "cuGraphAddDependencies", graph, array(first), array(foreign), 0, 1) == (INVALID_VALUE,)
    assert answers(cu, "cuGraphAddDependencies", graph, array(first), array(second), 0, 1) == (0,)


def test_nodes_that_wait_for_each_other_are_not_instantiated(cu: Drive) -> None:
    graph = cu.cuGraphCreate(0)
    first, second = cu.cuGraphAddEmptyNode(graph, 0, 0), cu.cuGraphAddEmptyNode(graph, 0, 0)
    cu.cuGraphAddDependencies(graph, array(first), array(second), 0, 1)
    assert answers(cu, "cuGraphInstantiateWithFlags", graph, 0) == (0,)
    cu.cuGraphAddDependencies(graph, array(second), array(first), 0, 1)
    assert answers(cu, "cuGraphInstantiateWithFlags", graph, 0) == (INVALID_VALUE,)
    cu.cuGraphRemoveDependencies(graph, array(second), array(first), 0, 1)
    assert answers(cu, "cuGraphInstantiateWithFlags", graph, 0) == (0,)
    third = cu.cuGraphAddEmptyNode(graph, array(first), 1)
    cu.cuGraphAddDependencies(graph, array(third), array(first), 0, 1)
    assert answers(cu, "cuGraphInstantiateWithFlags", graph, 0) == (INVALID_VALUE,)
    cu.cuGraphDestroyNode(third)
    assert answers(cu, "cuGraphInstantiateWithFlags", graph, 0) == (0,)


def test_the_context_of_a_batch_of_operations_is_not_changed(cu: Drive) -> None:
    graph, context = cu.cuGraphCreate(0), cu.model.primaries[0].handle
    here, there = (struct("CUDA_BATCH_MEM_OP_NODE_PARAMS", ctx=each) for each in (context, context + 0x100))
    batch, empty = cu.cuGraphAddBatchMemOpNode(graph, 0, 0, here), cu.cuGraphAddEmptyNode(graph, 0, 0)
    executable = cu.cuGraphInstantiateWithFlags(graph, 0)
    assert answers(cu, "cuGraphExecBatchMemOpNodeSetParams", executable, batch, here) == (0,)
    assert answers(cu, "cuGraphExecBatchMemOpNodeSetParams", executable, batch, there) == (INVALID_VALUE,)
    assert answers(cu, "cuGraphExecBatchMemOpNodeSetParams", executable, empty, there) != (0,)


def test_a_graph_is_updated_by_one_of_the_same_nodes(cu: Drive) -> None:
    one, same, more = (cu.cuGraphCreate(0) for _ in range(3))
    for graph in (one, same, more, more):
        cu.cuGraphAddEmptyNode(graph, 0, 0)
    executable = cu.cuGraphInstantiateWithFlags(one, 0)
    assert answers(cu, "cuGraphExecUpdate", executable, same) == (0,)
    assert answers(cu, "cuGraphExecUpdate", executable, more) == (910,)
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, 2)
    assert answers(cu, "cuGraphExecUpdate", executable, cu.cuStreamEndCapture(stream)) == (0, 910)
    cu.cuGraphAddMemFreeNode(more, 0, 0, of_graph(cu))
    assert answers(cu, "cuGraphExecUpdate", executable, more) == (910, 801)
    cu.cuGraphAddMemFreeNode(one, 0, 0, of_graph(cu))
    assert answers(cu, "cuGraphExecUpdate", executable, one) == (910,)


def test_a_graph_that_frees_memory_may_find_none(cu: Drive) -> None:
    graph, plain = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
    cu.cuGraphAddMemFreeNode(graph, 0, 0, of_graph(cu))
    frees, does_not = (cu.cuGraphInstantiateWithFlags(each, 0) for each in (graph, plain))
    assert answers(cu, "cuGraphLaunch", frees, 0) == (0, INVALID_VALUE)
    assert answers(cu, "cuGraphLaunch", does_not, 0) == (0,)


@pytest.mark.parametrize(("flags", "again"), [(0, (0, INVALID_VALUE)), (1, (0,))])
def test_memory_of_a_captured_graph_may_still_be_there_at_its_next_launch(
    cu: Drive, flags: int, again: tuple[int, ...]
) -> None:
    """Unless each launch frees what the one before left (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)."""
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, 2)
    memory = cu.cuMemAllocAsync(4096, stream)
    cu.cuMemFreeAsync(memory, stream)
    executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(stream), flags)
    assert answers(cu, "cuGraphLaunch", executable, stream) == (0,)
    assert answers(cu, "cuGraphLaunch", executable, stream) == again


def test_a_user_object_is_not_used_after_its_last_release(cu: Drive) -> None:
    made = cu.cuUserObjectCreate(1, 2, 2, 1)
    assert answers(cu, "cuUserObjectRelease", made, 1) == (0,)
    assert answers(cu, "cuUserObjectRetain", made, 1) == (0,)
    assert answers(cu, "cuUserObjectRelease", made, 2) == (0,)
    assert answers(cu, "cuUserObjectRelease", made, 1)[0] == 0
    assert answers(cu, "cuUserObjectRetain", made, 1)[0] == 0


def test_conditions_of_a_graph_are_numbered_from_1(cu: Drive) -> None:
    graph, context, stream = cu.cuGraphCreate(0), cu.model.primaries[0].handle, cu.cuStreamCreate(1)
    assert outputs(cu, "cuGraphConditionalHandleCreate", graph, context, 0, 0) == {0: 1}
    assert outputs(cu, "cuGraphConditionalHandleCreate", graph, context, 0, 0) == {0: 2}
    cu.cuStreamBeginCapture(stream, 2)
    captured = cu.cuStreamEndCapture(stream)
    assert outputs(cu, "cuGraphConditionalHandleCreate", captured, context, 0, 0) == {}
    assert outputs(cu, "cuGraphConditionalHandleCreate", NOWHERE, context, 0, 0) == {}


# Sizes, and calls that may have been missed.


@pytest.mark.parametrize(
    ("name", "words", "statuses"),
    [
        ("cuMemAlloc", (1 << 20,), (0,)),
        ("cuMemAlloc", ((1 << 20) + 1,), (2,)),
        ("cuMemAllocManaged", (1 << 20, 1), (0,)),
        ("cuMemAllocManaged", ((1 << 20) + 1, 1), (0, 2)),
        ("cuMemHostAlloc", ((1 << 20) + 1, 0), (0, 2)),
        ("cuMemAddressReserve", ((1 << 21), 0, 0, 0), (0, 2)),
    ],
)
def test_what_is_larger_than_the_largest_gpu_is_not_allocated_there(
    name: str, words: tuple[int, ...], statuses: tuple[int, ...]
) -> None:
    """Pinned and managed memory, and addresses, may be there all the same."""
    cu = drive(Model(memory=1 << 20, complete=True)).setup()
    assert answers(cu, name, *words) == statuses


def test_a_kernel_s_failure_shows_where_the_host_waits(cu: Drive) -> None:
    function, stream = cu.cuModuleGetFunction(cu.cuModuleLoadData(b"image"), b"f\0"), cu.cuStreamCreate(1)
    event = cu.cuEventCreate(0)
    for wait in (("cuCtxSynchronize",), ("cuStreamSynchronize", stream), ("cuEventSynchronize", event)):
        cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0)
        cu.cuEventRecord(event, stream)
        assert answers(cu, "cuStreamGetFlags", stream) == (0,)
        assert answers(cu, *wait) == (0, 719, 700)
        cu.cuCtxSynchronize()
        assert answers(cu, *wait) == (0,)


def test_of_what_only_fails_a_success_is_allowed_where_calls_may_be_missing() -> None:
    for complete, statuses in ((True, (INVALID_VALUE,)), (False, (INVALID_VALUE, 0))):
        cu = drive(Model(complete=complete)).setup()
        stream = cu.cuStreamCreate(1)
        cu.cuStreamBeginCapture(stream, 2)
        memory = cu.cuMemAllocAsync(4096, stream)
        cu.cuStreamEndCapture(stream)
        assert answers(cu, "cuMemFree", memory) == statuses
