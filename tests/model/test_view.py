"""What rules ask the model for: what is reached from where, what pointers point into, what is current, what is known at all."""

from __future__ import annotations

import pytest

from cuvet.catalog.roles import Kind
from cuvet.conformance.world import struct
from cuvet.model import Allocation, Call, Context, Model, SeenHandle, Stream

from .driving import Drive, drive

NOWHERE = 0xBEEF00


@pytest.fixture
def cu() -> Drive:
    """Of two devices; the first is current."""
    return drive(Model(devices=2, complete=True)).setup()


def last(cu: Drive) -> Call:
    assert cu.call is not None
    return cu.call


def allocation(cu: Drive, address: int) -> Allocation:
    found = cu.model.allocation_at(address)
    assert found is not None
    return found


def context(cu: Drive, device: int) -> Context:
    found = cu.model.primary_context(device)
    assert found is not None
    return found


def test_memory_of_the_own_device_is_reached_and_of_a_peer_s_once_that_is_enabled(cu: Drive) -> None:
    second = cu.cuDevicePrimaryCtxRetain(1)
    memory = allocation(cu, cu.cuMemAlloc(64))
    assert cu.model.reaches(context(cu, 0), memory) and not cu.model.reaches(context(cu, 1), memory)
    cu.cuCtxPushCurrent(second)
    cu.cuCtxEnablePeerAccess(context(cu, 0).handle, 0)
    assert cu.model.reaches(context(cu, 1), memory)
    memory.device = None
    cu.cuCtxDisablePeerAccess(context(cu, 0).handle)
    assert cu.model.reaches(context(cu, 1), memory)


def test_memory_of_a_pool_is_reached_from_where_the_pool_is(cu: Drive) -> None:
    cu.cuDevicePrimaryCtxRetain(1)
    own = cu.cuMemPoolCreate(struct("CUmemPoolProps", allocType=1, location__type=1, location__id=0))
    default = cu.cuDeviceGetDefaultMemPool(0)
    access = struct("CUmemAccessDesc", location__type=1, location__id=1, flags=3)
    of_own = allocation(cu, cu.cuMemAllocFromPoolAsync(64, own, 0))
    of_default, other = (allocation(cu, cu.cuMemAllocAsync(64, 0)) for _ in range(2))
    for pool, of_pool in ((own, of_own), (default, of_default)):
        assert not cu.model.reaches(context(cu, 1), of_pool)
        cu.cuMemPoolSetAccess(pool, access, 1)
        assert cu.model.reaches(context(cu, 1), of_pool)
    assert cu.model.reaches(context(cu, 1), other)
    cu.cuMemPoolSetAccess(own, 0x1000, 1)
    assert cu.model.reaches(context(cu, 1), of_own)


def test_no_default_pool_of_a_device_was_seen(cu: Drive) -> None:
    cu.cuDevicePrimaryCtxRetain(1)
    memory = allocation(cu, cu.cuMemAllocAsync(64, 0))
    assert not cu.model.reaches(context(cu, 1), memory)


def test_mapped_memory_is_reached_from_the_devices_that_were_given_access(cu: Drive) -> None:
    cu.cuDevicePrimaryCtxRetain(1)
    cu.cuMemMap(0x7A0000000000, 1 << 21, 0, cu.cuMemCreate(1 << 21, b"", 0), 0)
    memory = allocation(cu, 0x7A0000000000)
    for given, first, second in ((frozenset[int](), False, False), (frozenset({1}), False, True), (None, True, True)):
        memory.reached_from = given
        assert (cu.model.reaches(context(cu, 0), memory), cu.model.reaches(context(cu, 1), memory)) == (first, second)
    memory.reached_from = frozenset()
    context(cu, 1).device = None
    assert cu.model.reaches(context(cu, 1), memory)


def test_pointers_of_a_launch_and_the_memory_that_they_are_in(cu: Drive) -> None:
    first = cu.cuMemAlloc(64)
    second = cu.cuMemAlloc(64, gives=first + 64)
    for pointers, found in (
        ((), []),
        ((first, first + 8), [first]),
        ((first + 63, second + 1), [first, second]),
        ((second,), [second]),
        ((first, second), [first]),
        ((second, first), [first]),
        ((NOWHERE, second + 63), [second]),
        ((second + 64,), []),
    ):
        cu.cuLaunchKernel(0x1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, pointers=pointers, status=0)
        assert [each.handle for each in cu.model.pointed_at(last(cu))] == found, pointers


def test_a_green_context_stands_for_the_primary_one_as_long_as_it_lives(cu: Drive) -> None:
    green = cu.cuGreenCtxCreate(0, 0, 1)
    made = cu.cuCtxFromGreenCtx(green)
    elsewhere = cu.cuCtxFromGreenCtx(cu.cuGreenCtxCreate(0, 1, 1))
    cu.cuCtxGetFlags()
    assert cu.model.green_context(last(cu)) is None
    cu.cuCtxSetCurrent(made)
    cu.cuCtxGetFlags()
    assert cu.model.current_context(last(cu)) is context(cu, 0)
    found = cu.model.green_context(last(cu))
    assert found is cu.model.context_at(made) and found is not None
    cu.cuCtxSetCurrent(elsewhere)
    cu.cuCtxGetFlags()
    assert cu.model.current_context(last(cu)) is cu.model.context_at(elsewhere)
    cu.cuCtxSetCurrent(made)
    cu.cuGreenCtxDestroy(green)
    cu.cuCtxGetFlags(status=709)
    assert not found.alive and cu.model.current_context(last(cu)) is found


def test_what_the_driver_says_is_current(cu: Drive) -> None:
    other = cu.cuCtxCreate(0, 0, 0)
    cu.cuCtxPopCurrent()
    cu.cuCtxGetFlags()
    asked = last(cu)
    for told, handle, found in (
        (None, context(cu, 0).handle, context(cu, 0)),
        (other, other, cu.model.context_at(other)),
        (0, 0, None),
    ):
        asked.context = told
        assert (cu.model.current_handle(asked), cu.model.current_context(asked)) == (handle, found)
        assert cu.model.device_of(asked) == (None if found is None else 0)


def test_a_dead_context_s_handle_can_be_current_again(cu: Drive) -> None:
    """The driver says that the handle is current: it is another context's by now."""
    handle = cu.cuCtxCreate(0, 0, 0)
    with cu.in_thread(2):
        cu.cuCtxSetCurrent(handle)
    cu.cuCtxDestroy(handle)
    with cu.in_thread(2):
        cu.cuCtxGetFlags(context=handle)
        assert cu.model.current_context(last(cu)) is cu.model.context_at(handle)


def test_streams_are_those_that_were_made_and_the_default_ones_that_were_named(cu: Drive) -> None:
    made = cu.cuStreamCreate(0)
    cu.cuStreamQuery(0)
    cu.cuStreamQuery(2)
    other = cu.cuCtxCreate(0, 0, 0)
    elsewhere = cu.cuStreamCreate(0)
    found = cu.model.streams_of(context(cu, 0))
    assert sorted(each.handle for each in found) == [1, 2, made]
    there = cu.model.context_at(other)
    assert there is not None and [each.handle for each in cu.model.streams_of(there)] == [elsewhere]
    assert sorted(each.handle for each in cu.model.streams()) == sorted([1, 2, made, elsewhere])


def test_which_stream_a_call_names(cu: Drive) -> None:
    made = cu.cuStreamCreate(0)
    event = cu.cuEventCreate(0)
    stream = cu.model.find(Kind.STREAM, made)
    for word, per_thread, handle, builtin in (
        (0, False, 1, True),
        (1, False, 1, True),
        (2, False, 2, True),
        (0, True, 2, True),
        (1, True, 1, True),
    ):
        cu.cuStreamQuery(word, per_thread=per_thread)
        found = cu.model.stream_of(last(cu), 0)
        assert found is not None and (found.handle, found.builtin) == (handle, builtin)
        assert cu.model.object_of(last(cu), 0, Kind.STREAM) is found
        assert cu.model.context_of(last(cu), found) is context(cu, 0)
    cu.cuStreamQuery(made, seen={0: SeenHandle(Kind.EVENT, made, 3, True)})
    assert cu.model.stream_of(last(cu), 0) is stream and stream is not None
    cu.cuStreamQuery(event)
    assert cu.model.stream_of(last(cu), 0) is None
    cu.cuCtxSetCurrent(0)
    cu.cuStreamQuery(made)
    found = cu.model.stream_of(last(cu), 0)
    assert isinstance(found, Stream) and cu.model.context_of(last(cu), found) is context(cu, 0)
    cu.cuStreamQuery(0)
    assert cu.model.stream_of(last(cu), 0) is None and cu.model.default_stream(last(cu)) is None


def test_what_a_stream_has_pending_and_what_comes_after_it(cu: Drive) -> None:
    one, two = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
    memory = cu.cuMemAlloc(64)
    first, second = (cu.model.find(Kind.STREAM, each) for each in (one, two))
    assert isinstance(first, Stream) and isinstance(second, Stream)
    assert cu.model.pending(first) is None
    cu.cuMemsetD8Async(memory, 0, 8, one)
    work = last(cu)
    assert cu.model.pending(first) is work and not cu.model.finished(work)
    assert not cu.model.ordered_after(work, second, work) and cu.model.ordered_after(work, first, work)
    cu.cuStreamBeginCapture(two, 2)
    assert cu.model.ordered_after(work, second, work)
    cu.cuStreamEndCapture(two)
    cu.cuStreamGetFlags(one)
    assert last(cu).position is None
    assert cu.model.finished(last(cu)) and cu.model.ordered_after(work, second, last(cu))
    cu.cuStreamSynchronize(one)
    assert cu.model.pending(first) is None and cu.model.finished(work)


def test_handles_of_a_kind_are_all_known_once_the_driver_is_initialised() -> None:
    model = Model()
    assert not model.sees_all(Kind.STREAM)
    cu = drive(model)
    cu.cuInit(0)
    assert model.sees_all(Kind.STREAM) and not model.sees_all(Kind.MEMORY)


@pytest.mark.parametrize(("mode", "own"), [(0, True), (1, True), (2, False)])
@pytest.mark.parametrize("thread_mode", [0, 1, 2])
def test_which_captures_forbid_unsafe_calls(cu: Drive, mode: int, own: bool, thread_mode: int) -> None:
    """cuThreadExchangeStreamCaptureMode: a global capture forbids them to all threads, a thread-local one to its own, a relaxed one to
    none; and a thread that is relaxed makes them all the same, one that is thread-local if only others capture."""
    stream = cu.cuStreamCreate(1)
    cu.cuStreamBeginCapture(stream, mode)
    for thread, forbidden in ((1, own and thread_mode < 2), (2, mode == 0 and thread_mode == 0)):
        with cu.in_thread(thread):
            cu.model.threads[thread].capture_mode = thread_mode
            cu.cuCtxGetFlags()
            assert bool(list(cu.model.captures_forbidding(last(cu)))) is forbidden


def test_what_the_shim_saw_of_another_kind_says_nothing(cu: Drive) -> None:
    event = cu.cuEventCreate(0)
    cu.cuEventQuery(event, seen={0: SeenHandle(Kind.STREAM, event, 7, False)})
    assert cu.model.object_of(last(cu), 0, Kind.EVENT) is cu.model.find(Kind.EVENT, event)


def test_an_empty_range_is_in_one_allocation_alone(cu: Drive) -> None:
    first = cu.cuMemAlloc(64)
    cu.cuMemAlloc(64, gives=first + 64)
    assert [each.handle for each in cu.model.overlapping_allocations(first + 63, 0)] == [first]


def test_a_process_has_one_gpu_unless_more_are_said_to_be_there() -> None:
    assert Model().devices == 1
