"""Memory by address, pools, and the order of stream-ordered memory."""

from __future__ import annotations

import pytest

from cuvet.catalog.roles import Kind
from cuvet.conformance.world import struct
from cuvet.model import Allocation, HostMemory, MemoryPool, Model, Stream
from cuvet.model.memory import MemoryTable

from .driving import Drive, drive

BLOCKING, NON_BLOCKING = 0, 1
PAGE = 1 << 21


@pytest.fixture
def cu() -> Drive:
    return drive().setup()


def allocation(cu: Drive, address: int) -> Allocation:
    found = cu.model.allocation_at(address)
    assert found is not None
    return found


def stream(cu: Drive, handle: int) -> Stream:
    found = cu.model.find(Kind.STREAM, handle)
    assert isinstance(found, Stream)
    return found


def test_the_living_first_then_what_was_freed_last(cu: Drive) -> None:
    first = cu.cuMemAlloc(4096)
    cu.cuMemFree(first)
    old = allocation(cu, first + 4095)
    assert not old.alive
    assert cu.model.allocation_at(first + 4096) is None
    cu.cuMemAlloc(1024, gives=first)
    assert allocation(cu, first + 1023).number == 2
    assert allocation(cu, first + 1024) is old
    cu.cuMemFree(first)
    assert allocation(cu, first).number == 2
    assert allocation(cu, first + 1024) is old


def test_sizes_and_variants(cu: Drive) -> None:
    pitched, pitch = cu.cuMemAllocPitch(100, 10, 4)
    managed = cu.cuMemAllocManaged(64, 1)
    pooled = cu.cuMemAllocAsync(64, 0)
    opened = cu.cuIpcOpenMemHandle(b"", 1)
    assert (allocation(cu, pitched).variant, allocation(cu, pitched).size) == ("pitched", pitch * 10)
    assert (allocation(cu, managed).variant, allocation(cu, managed).size) == ("managed", 64)
    assert (allocation(cu, pooled).variant, allocation(cu, pooled).size) == ("stream-ordered", 64)
    found = cu.model.find(Kind.MEMORY, opened)
    assert isinstance(found, Allocation)
    assert found.variant == "ipc"


def test_mapped_memory_ends_when_it_is_unmapped(cu: Drive) -> None:
    base = cu.cuMemAddressReserve(1 << 23, 0, 0, 0, gives=0x10_0000_0000)
    for part in range(2):
        cu.cuMemMap(base + part * (1 << 21), 1 << 21, 0, cu.cuMemCreate(1 << 21, b"", 0), 0)
    assert allocation(cu, base + 5).variant == "mapped"
    cu.cuMemUnmap(base, 1 << 22)
    assert not allocation(cu, base + 5).alive
    assert not allocation(cu, base + (1 << 21)).alive
    cu.cuMemAddressFree(base, 1 << 23)
    reserved = cu.model.find(Kind.ADDRESS_RANGE, base)
    assert reserved is not None
    assert not reserved.alive


def test_a_variable_of_a_module_ends_with_it(cu: Drive) -> None:
    module = cu.cuModuleLoadData(b"image")
    address, _ = cu.cuModuleGetGlobal(module, b"name\0", gives=0x20_0000_0000)
    assert allocation(cu, address).variant == "global"
    cu.cuModuleUnload(module)
    assert not allocation(cu, address).alive


def test_either_free_takes_either_memory(cu: Drive) -> None:
    linear, pooled = cu.cuMemAlloc(64), cu.cuMemAllocAsync(64, 0)
    cu.cuMemFreeAsync(linear, 0)
    cu.cuMemFree(pooled)
    assert not allocation(cu, linear).alive
    assert not allocation(cu, pooled).alive
    assert allocation(cu, linear).freed_on is not None
    assert allocation(cu, pooled).freed_on is None


def test_an_allocation_over_a_living_one_was_freed_unseen(cu: Drive) -> None:
    address = cu.cuMemAlloc(4096)
    lost = allocation(cu, address)
    cu.cuMemAlloc(4096, gives=address + 1024)
    assert lost.lost
    assert lost.destroyed_by is None


def test_only_the_newest_dead_are_remembered() -> None:
    table: MemoryTable[HostMemory] = MemoryTable(remembered=2)
    ranges = [
        HostMemory(kind=Kind.HOST_MEMORY, handle=at, generation=1, number=n, size=16)
        for n, at in enumerate((0, 100, 200, 300), 1)
    ]
    for memory in ranges:
        table.add(memory)
        table.end(memory)
    assert [table.at(at) for at in (0, 100, 200, 300)] == [None, None, ranges[2], ranges[3]]


def test_host_memory_overlaps(cu: Drive) -> None:
    cu.cuMemHostRegister(0x1000, 0x1000, 0)
    pinned = cu.cuMemHostAlloc(64, 2)
    assert [found.handle for found in cu.model.overlapping_host_memory(0x0, 0x1001)] == [0x1000]
    assert cu.model.overlapping_host_memory(0x2000, 0x1000) == []
    found = cu.model.host_memory_at(pinned + 63)
    assert found is not None
    assert (found.registered, found.flags) == (False, 2)
    cu.cuMemHostUnregister(0x1000)
    dead = cu.model.host_memory_at(0x1800)
    assert dead is not None
    assert dead.registered
    assert not dead.alive


def test_memory_outlives_the_pool_that_it_is_made_from(cu: Drive) -> None:
    handle = cu.cuMemPoolCreate(b"\1\0\0\0\0\0\0\0\1" + b"\0" * 79)
    memory = cu.cuMemAllocFromPoolAsync(64, handle, 0)
    cu.cuMemPoolDestroy(handle)
    assert allocation(cu, memory).alive
    cu.cuMemFreeAsync(memory, 0)
    assert not allocation(cu, memory).alive


def test_the_default_pool_is_one_object(cu: Drive) -> None:
    handle = cu.cuDeviceGetDefaultMemPool(0)
    assert cu.cuDeviceGetDefaultMemPool(0) == handle
    cu.cuDeviceGetMemPool(0, gives=handle)
    (pool,) = cu.model.objects(Kind.MEMORY_POOL)
    assert isinstance(pool, MemoryPool)
    assert pool.default


def test_uses_of_stream_ordered_memory_and_their_order(cu: Drive) -> None:
    model = cu.model
    a, b = cu.cuStreamCreate(NON_BLOCKING), cu.cuStreamCreate(NON_BLOCKING)
    memory = cu.cuMemAllocAsync(64, a)
    made = cu.call
    event = cu.cuEventCreate(0)
    cu.cuMemsetD8Async(memory + 8, 0, 8, a)
    use = cu.call
    stream_a, stream_b = stream(cu, a), stream(cu, b)
    assert allocation(cu, memory).uses == {stream_a: use}
    assert made is not None
    assert use is not None
    assert not model.ordered_after(use, stream_b, made)
    cu.cuEventRecord(event, a)
    cu.cuStreamWaitEvent(b, event, 0)
    assert model.ordered_after(use, stream_b, made)
    assert model.pending(stream_a) is use
    cu.cuEventSynchronize(event)
    assert model.pending(stream_a) is None


def test_queries_tell_that_work_is_done(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    memory = cu.cuMemAlloc(64)
    cu.cuMemsetD8Async(memory, 0, 64, stream)
    cu.cuStreamQuery(stream, status=600)
    assert cu.prediction is not None
    assert set(cu.prediction.statuses) == {0, 600}
    cu.cuStreamQuery(stream, status=0)
    cu.cuStreamQuery(stream)
    assert cu.prediction.statuses == (0,)


def test_freeing_linear_memory_waits_and_freeing_pooled_memory_does_not(cu: Drive) -> None:
    stream = cu.cuStreamCreate(NON_BLOCKING)
    linear, pooled = cu.cuMemAlloc(64), cu.cuMemAllocAsync(64, stream)
    cu.cuMemsetD8Async(pooled, 0, 64, stream)
    work = cu.call
    assert work is not None
    cu.cuMemFree(pooled)
    assert not cu.model.finished(work)
    cu.cuMemFree(linear)
    assert cu.model.finished(work)


@pytest.mark.parametrize(("pinned", "finished"), [(False, (True, False)), (True, (True, True))])
def test_a_copy_from_the_host_waits_for_what_came_before_and_from_pinned_memory_for_itself(
    cu: Drive, pinned: bool, finished: tuple[bool, bool]
) -> None:
    """CUDA Driver API, API synchronization behavior: from pageable memory a stream sync is performed before the copy is initiated."""
    memory = cu.cuMemAlloc(64)
    host = cu.cuMemHostAlloc(64, 0) if pinned else 0x4000
    cu.cuMemsetD8Async(memory, 0, 64, 0)
    before = cu.call
    cu.cuMemcpyHtoD(memory, host, 64)
    assert before is not None and cu.call is not None
    assert (cu.model.finished(before), cu.model.finished(cu.call)) == finished


def test_a_neighbours_end_is_no_use(cu: Drive) -> None:
    low = cu.cuMemAllocAsync(64, 0)
    high = cu.cuMemAllocAsync(64, 0, gives=low + 64)
    module = cu.cuModuleLoadData(b"image")
    function = cu.cuModuleGetFunction(module, b"name\0")
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, pointers=(low, low + 64, 7))
    assert cu.call is not None
    assert cu.model.pointed_at(cu.call) == (allocation(cu, low),)
    cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, pointers=(high, high + 8))
    assert cu.model.pointed_at(cu.call) == (allocation(cu, high),)


def test_without_all_calls_a_query_may_find_work_that_was_not_seen() -> None:
    cu = drive(Model()).setup()
    cu.cuStreamQuery(cu.cuStreamCreate(BLOCKING))
    assert cu.prediction is not None
    assert cu.prediction.statuses == (0, 600)


@pytest.mark.parametrize("wait", ["cuMemcpyDtoH", "cuMemFreeHost", "cuArrayDestroy", "cuModuleUnload"])
def test_calls_that_may_wait_finish_the_work(cu: Drive, wait: str) -> None:
    memory = cu.cuMemAllocAsync(64, 0)
    words = {
        "cuMemcpyDtoH": (0x1000, memory, 64),
        "cuMemFreeHost": (cu.cuMemHostAlloc(64, 0),),
        "cuArrayDestroy": (cu.cuArrayCreate(b"\1" + b"\0" * 23),),
        "cuModuleUnload": (cu.cuModuleLoadData(b"image"),),
    }
    cu.cuMemsetD8Async(memory, 0, 64, 0)
    work = cu.call
    assert work is not None
    assert not cu.model.finished(work)
    getattr(cu, wait)(*words[wait])
    assert cu.model.finished(work)


def test_stream_ordered_memory_is_on_the_device_of_its_pool() -> None:
    cu = drive(Model(2, complete=True)).setup()
    properties = struct("CUmemPoolProps", allocType=1, location__type=1, location__id=1)
    pool = cu.cuMemPoolCreate(properties)
    there = allocation(cu, cu.cuMemAllocFromPoolAsync(64, pool, 0))
    here = allocation(cu, cu.cuMemAllocAsync(64, 0))
    assert (there.device, here.device) == (1, 0)
    assert cu.call is not None
    current = cu.model.current_context(cu.call)
    assert current is not None
    assert not cu.model.reaches(current, there)
    for flags, expected in ((3, True), (0, False)):
        cu.cuMemPoolSetAccess(pool, struct("CUmemAccessDesc", location__type=1, flags=flags), 1)
        assert cu.model.reaches(current, there) is expected


@pytest.mark.parametrize(("location", "device"), [(1, 1), (2, None)], ids=["device", "host"])
def test_a_pool_is_on_the_device_of_its_location_and_of_the_host_on_none(location: int, device: int | None) -> None:
    cu = drive(Model(2, complete=True)).setup()
    properties = struct("CUmemPoolProps", allocType=1, location__type=location, location__id=1)
    pool = cu.model.find(Kind.MEMORY_POOL, cu.cuMemPoolCreate(properties))
    assert pool is not None and pool.device == device


def test_allocations_are_of_the_pool_that_the_device_has_now(cu: Drive) -> None:
    pool = cu.cuMemPoolCreate(struct("CUmemPoolProps", allocType=1, location__type=1))
    assert allocation(cu, cu.cuMemAllocAsync(64, 0)).pool is None
    cu.cuDeviceSetMemPool(0, pool)
    assert allocation(cu, cu.cuMemAllocAsync(64, 0)).pool is cu.model.find(Kind.MEMORY_POOL, pool)


def test_a_handle_is_valid_again_when_it_is_retained_through_its_mapping(cu: Drive) -> None:
    handle = cu.cuMemCreate(1 << 21, struct("CUmemAllocationProp", type=1, location__type=1), 0)
    cu.cuMemRelease(handle)
    cu.cuMemRetainAllocationHandle(0x1000, gives=handle, status=0)
    for expected in (0, 1):
        cu.cuMemRelease(handle)
        assert cu.status == expected


def two_devices() -> tuple[Drive, int, int]:
    """Device 0 is current on thread 1, device 1 on thread 2."""
    cu = drive(Model(2, complete=True)).setup()
    first = cu.cuDevicePrimaryCtxRetain(0)
    with cu.in_thread(2):
        second = cu.cuDevicePrimaryCtxRetain(1)
        cu.cuCtxSetCurrent(second)
    return cu, first, second


def test_copies_look_at_the_current_device_and_sets_at_that_of_the_stream() -> None:
    cu, _, _ = two_devices()
    stream, memory = cu.cuStreamCreate(0), cu.cuMemAllocAsync(64, 0)
    for thread, copied in ((1, 0), (2, 1)):
        with cu.in_thread(thread):
            cu.cuMemcpyDtoDAsync(memory, memory, 64, stream)
            assert cu.status == copied
            cu.cuMemsetD8Async(memory, 0, 64, stream)
            assert cu.status == 0


def test_a_copy_between_contexts_looks_at_those_that_are_passed() -> None:
    cu, first, second = two_devices()
    memory = cu.cuMemAllocAsync(64, 0)
    for context, status in ((first, 0), (second, 1)):
        with cu.in_thread(2):
            cu.cuMemcpyPeer(memory, context, memory, context, 64)
            assert cu.status == status


def test_values_are_written_to_memory_of_the_streams_device_but_captured_unseen() -> None:
    cu, _, _ = two_devices()
    memory = cu.cuMemAlloc(64)
    with cu.in_thread(2):
        stream = cu.cuStreamCreate(0)
        cu.cuStreamWriteValue32(stream, memory, 1, 0)
        assert cu.status == 1
        cu.cuStreamBeginCapture(stream, 2)
        cu.cuStreamWriteValue32(stream, memory, 1, 0)
        assert cu.status == 0


@pytest.mark.parametrize(("given", "status"), [(None, 1), (0, 0), (1, 1)])
def test_mapped_memory_is_reached_from_where_access_was_given(given: int | None, status: int) -> None:
    cu, _, _ = two_devices()
    size = 1 << 21
    handle = cu.cuMemCreate(size, struct("CUmemAllocationProp", type=1, location__type=1), 0)
    address = cu.cuMemAddressReserve(size, 0, 0, 0)
    cu.cuMemMap(address, size, 0, handle, 0)
    if given is not None:
        cu.cuMemSetAccess(address, size, struct("CUmemAccessDesc", location__type=1, location__id=given, flags=3), 1)
    cu.cuMemsetD8(address, 0, 64)
    assert cu.status == status


def test_a_device_pointer_is_one_for_the_current_context() -> None:
    cu, _, _ = two_devices()
    memory, device_pointer, memory_type = cu.cuMemAlloc(64), 3, 2
    with cu.in_thread(2):
        for attribute, status in ((device_pointer, 1), (memory_type, 0)):
            cu.cuPointerGetAttribute(bytes(8), attribute, memory)
            assert cu.status == status
        cu.cuCtxEnablePeerAccess(cu.model.primaries[0].handle, 0)
        cu.cuPointerGetAttribute(bytes(8), device_pointer, memory)
        assert cu.status == 0


def test_after_a_free_that_did_not_wait_any_call_may_tell_a_fault_until_the_host_has_waited(cu: Drive) -> None:
    faults = {700, 719}
    for wait in (False, True):
        memory = cu.cuMemAllocAsync(64, 0)
        cu.cuMemsetD8(memory, 0, 64)
        if wait:
            cu.cuCtxSynchronize()
        cu.cuMemFree(memory)
        cu.cuMemAlloc(64)
        assert cu.prediction is not None
        assert faults.isdisjoint(cu.prediction.statuses) is wait
        cu.cuCtxSynchronize()


def test_a_wait_after_a_double_free_may_die(cu: Drive) -> None:
    memory = cu.cuMemAlloc(64)
    cu.cuMemFreeAsync(memory, 0)
    cu.cuMemFree(memory, status=0)
    cu.cuMemAlloc(64)
    assert cu.prediction is not None and cu.prediction.statuses == (0,)
    cu.cuCtxSynchronize()
    assert cu.prediction.statuses == (0, -11)


def test_memory_of_a_graph_is_there_when_that_graph_was_launched(cu: Drive) -> None:
    stream = cu.cuStreamCreate(0)
    cu.cuStreamBeginCapture(stream, 0)
    memory = cu.cuMemAllocAsync(64, stream)
    graph = cu.cuStreamEndCapture(stream)
    other = cu.cuGraphInstantiateWithFlags(cu.cuGraphCreate(0), 0)
    for executable, status in ((other, 1), (cu.cuGraphInstantiateWithFlags(graph, 0), 0)):
        cu.cuGraphLaunch(executable, stream)
        cu.cuMemsetD8(memory, 0, 64)
        assert cu.status == status


@pytest.mark.parametrize(("made", "statuses"), [(1, (-11,)), (2, (0,))])
def test_memory_for_all_streams_is_not_attached_to_the_null_stream_with_no_flags(
    cu: Drive, made: int, statuses: tuple[int, ...]
) -> None:
    memory = cu.cuMemAllocManaged(64, made)
    cu.cuStreamAttachMemAsync(0, memory, 0, 0)
    assert cu.prediction is not None and cu.prediction.statuses == statuses


def test_a_range_that_dies_often_is_remembered_once() -> None:
    table: MemoryTable[HostMemory] = MemoryTable(remembered=2)

    def dies(at: int, size: int = 16) -> HostMemory:
        memory = HostMemory(kind=Kind.HOST_MEMORY, handle=at, generation=1, number=1, size=size)
        table.add(memory)
        table.end(memory)
        return memory

    first, larger = dies(0), dies(100, 32)
    assert table.at(0) is first
    again = [dies(0) for _ in range(3)]
    assert table.at(100) is larger and table.at(0) is again[-1]
    smaller = dies(100)
    assert table.at(100) is smaller and table.at(131) is None
    assert table.at(0) is again[-1]
    beside = dies(200)
    assert table.at(0) is None and table.at(200) is beside


def test_an_empty_range_overlaps_what_its_address_is_in(cu: Drive) -> None:
    memory = cu.cuMemAlloc(64)
    assert [each.handle for each in cu.model.overlapping_allocations(memory + 63, 0)] == [memory]
    assert cu.model.overlapping_allocations(memory + 64, 0) == []


def test_what_is_unmapped_is_what_lies_within_the_range(cu: Drive) -> None:
    first, second, third = (0x7A0000000000 + at * PAGE for at in range(3))
    handle = cu.cuMemCreate(PAGE, b"", 0)
    for address in (first, second, third):
        cu.cuMemMap(address, PAGE, 0, handle, 0)
    cu.cuMemUnmap(first + 1, 2 * PAGE, status=0)
    assert [allocation(cu, each).alive for each in (first, second, third)] == [True, False, True]
    cu.cuMemUnmap(first, PAGE - 1, status=0)
    assert allocation(cu, first).alive
    cu.cuMemUnmap(first, PAGE)
    assert not allocation(cu, first).alive
    device = cu.cuMemAlloc(PAGE)
    cu.cuMemUnmap(device, PAGE, status=0)
    assert allocation(cu, device).alive


def test_access_to_part_of_a_mapping_leaves_it_unknown_who_reaches_it(cu: Drive) -> None:
    first, second = 0x7A0000000000, 0x7A0000000000 + PAGE
    handle, access = cu.cuMemCreate(PAGE, b"", 0), struct("CUmemAccessDesc", location__type=1, location__id=0, flags=3)
    for address in (first, second):
        cu.cuMemMap(address, PAGE, 0, handle, 0)
    cu.cuMemSetAccess(first, PAGE, access, 1, status=0)
    assert allocation(cu, first).reached_from == frozenset({0}) and allocation(cu, second).reached_from == frozenset()
    cu.cuMemSetAccess(first, PAGE, struct("CUmemAccessDesc", location__type=1, location__id=0, flags=0), 1, status=0)
    assert allocation(cu, first).reached_from == frozenset()
    cu.cuMemSetAccess(first, PAGE, struct("CUmemAccessDesc", location__type=2, location__id=0, flags=3), 1, status=0)
    assert allocation(cu, first).reached_from == frozenset()
    cu.cuMemSetAccess(first, 2 * PAGE - 1, access, 1, status=0)
    assert allocation(cu, first).reached_from == frozenset({0}) and allocation(cu, second).reached_from is None
    cu.cuMemSetAccess(first + 1, PAGE - 1, access, 1, status=0)
    assert allocation(cu, first).reached_from is None
    cu.cuMemMap(second + PAGE, PAGE, 0, handle, 0)
    cu.cuMemSetAccess(second + PAGE, PAGE, access, 2, status=0)
    assert allocation(cu, second + PAGE).reached_from is None


def test_memory_of_a_pool_that_was_never_seen_is_on_no_known_device(cu: Drive) -> None:
    known = cu.cuMemPoolCreate(struct("CUmemPoolProps", allocType=1, location__type=1, location__id=0))
    for pool, device in ((known, 0), (0xBEEF00, None)):
        found = allocation(cu, cu.cuMemAllocFromPoolAsync(64, pool, 0, status=0))
        assert found.device == device
        assert (found.pool is None) is (device is None)


def test_a_variable_is_asked_for_again_and_is_the_same(cu: Drive) -> None:
    module, library = cu.cuModuleLoadData(b"image"), cu.cuLibraryLoadData(b"image", 0, 0, 0, 0, 0, 0)
    address, _ = cu.cuModuleGetGlobal(module, b"v\0")
    found = allocation(cu, address)
    cu.cuModuleGetGlobal(module, b"v\0", gives=address)
    assert allocation(cu, address) is found and found.parent is cu.model.find(Kind.MODULE, module)
    other, _ = cu.cuLibraryGetGlobal(library, b"v\0", gives=0x7B0000000000)
    assert allocation(cu, other).parent is cu.model.find(Kind.CULIBRARY, library)
    cu.cuModuleGetGlobal(module, b"w\0", gives=0)
    assert cu.model.allocation_at(0) is None


def test_a_use_that_has_no_place_in_an_order_endangers_nothing(cu: Drive) -> None:
    """Work on a stream of which nothing is known."""
    memory = allocation(cu, cu.cuMemAllocAsync(4096, 0))
    cu.cuCtxSynchronize()
    assert cu.call is not None
    stray = Stream(kind=Kind.STREAM, handle=77, generation=1, number=77)
    memory.uses[stray] = cu.call
    cu.cuMemFree(memory.handle, status=0)
    assert cu.model.endangered == {}
