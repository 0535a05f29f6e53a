"""Contexts: which is current where, primary contexts, resets, errors that stay."""

from __future__ import annotations

import pytest

from cuvet.catalog.roles import Kind
from cuvet.model import Context, Model

from .driving import Drive, drive


def current(cu: Drive) -> Context | None:
    cu.cuCtxGetFlags()
    assert cu.call is not None
    return cu.model.current_context(cu.call)


def test_each_thread_has_its_own_stack() -> None:
    cu = drive()
    cu.cuInit(0)
    first, second = cu.cuCtxCreate(0, 0, 0), cu.cuCtxCreate(0, 0, 0)
    assert current(cu) is cu.model.context_at(second)
    with cu.in_thread(2):
        assert current(cu) is None
        assert cu.call is not None
        assert cu.model.current_handle(cu.call) == 0
        cu.cuCtxPushCurrent(first)
        assert current(cu) is cu.model.context_at(first)
    assert cu.cuCtxPopCurrent() == second
    assert current(cu) is cu.model.context_at(first)
    found = cu.model.context_at(first)
    assert found is not None
    assert cu.model.threads_of(found) == (1, 2)
    cu.cuCtxSetCurrent(0)
    assert current(cu) is None
    assert cu.model.threads_of(found) == (2,)


def test_a_destroyed_context_is_popped_here_and_stays_current_elsewhere() -> None:
    cu = drive()
    cu.cuInit(0)
    handle = cu.cuCtxCreate(0, 0, 0)
    with cu.in_thread(2):
        cu.cuCtxSetCurrent(handle)
    cu.cuCtxDestroy(handle)
    assert current(cu) is None
    with cu.in_thread(2):
        left = current(cu)
    assert left is not None
    assert not left.alive


def test_the_driver_knows_better_which_context_is_current() -> None:
    cu = drive().setup()
    other = 0x7777000
    cu.cuStreamCreate(0, context=other)
    stream = next(cu.model.objects(Kind.STREAM))
    assert stream.context is cu.model.context_at(other)
    cu.cuStreamCreate(0, context=0)
    assert current(cu) is None


def test_a_reset_ends_the_primary_context_and_the_next_retain_brings_it_back() -> None:
    cu = drive().setup()
    stream, memory, pooled = cu.cuStreamCreate(0), cu.cuMemAlloc(64), cu.cuMemAllocAsync(64, 0)
    before = cu.model.primary_context(0)
    assert before is not None
    cu.cuDevicePrimaryCtxReset(0)
    reset = cu.call
    for kind, handle in ((Kind.STREAM, stream), (Kind.MEMORY, memory), (Kind.MEMORY, pooled)):
        found = cu.model.find(kind, handle)
        assert found is not None
        assert found.destroyed_by is reset
        assert found.killed_by is before
    assert current(cu) is before
    assert cu.cuDevicePrimaryCtxRetain(0) == before.handle
    after = current(cu)
    assert after is not None
    assert after is not before
    assert after.alive
    assert (after.handle, after.generation, after.retained) == (before.handle, before.generation + 1, 2)


def test_what_is_made_after_a_reset_shows_that_the_context_is_back() -> None:
    cu = drive().setup()
    before = cu.model.primary_context(0)
    cu.cuDevicePrimaryCtxReset(0)
    cu.cuStreamCreate(0, status=0)
    (stream,) = cu.model.objects(Kind.STREAM)
    assert stream.context is not None
    assert stream.context is cu.model.primary_context(0)
    assert stream.context is current(cu)
    assert stream.context is not before
    assert stream.context.alive
    assert stream.context.generation == 2


def test_only_the_last_release_ends_the_primary_context() -> None:
    cu = drive().setup()
    cu.cuDevicePrimaryCtxRetain(0)
    context = cu.model.primary_context(0)
    assert context is not None
    cu.cuDevicePrimaryCtxRelease(0)
    assert context.alive
    cu.cuDevicePrimaryCtxRelease(0)
    assert context.destroyed_by is cu.call


def test_the_default_streams_end_with_their_context() -> None:
    cu = drive().setup()
    cu.cuMemsetD8Async(cu.cuMemAlloc(64), 0, 64, 0)
    assert cu.call is not None
    legacy = cu.model.default_stream(cu.call)
    cu.cuDevicePrimaryCtxReset(0)
    cu.cuDevicePrimaryCtxRetain(0)
    cu.cuStreamQuery(0)
    again = cu.model.default_stream(cu.call)
    assert legacy is not None
    assert again is not None
    assert again is not legacy
    assert again.alive


def test_default_streams_are_per_context_and_per_thread() -> None:
    cu = drive().setup()

    def stream(word: int, per_thread: bool = False) -> object:
        cu.cuStreamQuery(word, per_thread=per_thread)
        assert cu.call is not None
        return cu.model.stream_of(cu.call, 0)

    assert stream(0) is stream(1)
    assert stream(0, per_thread=True) is stream(2)
    assert stream(0) is not stream(2)
    mine, legacy = stream(2), stream(0)
    context = cu.model.primary_context(0)
    assert context is not None
    with cu.in_thread(2):
        cu.cuCtxSetCurrent(context.handle)
        assert stream(0) is legacy
        assert stream(2) is not mine


@pytest.mark.parametrize("status", [700, 719])
def test_a_sticky_error_is_that_of_the_process(status: int) -> None:
    cu = drive().setup()
    cu.cuCtxSynchronize(status=status)
    first = cu.call
    cu.cuMemAlloc(64)
    assert cu.status == status
    assert cu.call is not None
    assert cu.model.sticky_error(cu.call) == (first, status)
    cu.cuCtxGetCurrent()
    assert cu.status == 0
    cu.cuCtxCreate(0, 0, 0)
    assert cu.model.sticky_error(cu.call) == (first, status)


def test_an_ordinary_error_does_not_stay() -> None:
    cu = drive().setup()
    cu.cuMemAlloc(1 << 50)
    assert cu.status == 2
    cu.cuMemAlloc(64)
    assert cu.status == 0


def test_before_init_and_after_shutdown() -> None:
    cu = drive()
    cu.cuDriverGetVersion()
    assert cu.status == 0
    cu.cuDeviceGetCount()
    assert cu.status == 3
    cu.setup()
    cu.model.shutdown()
    cu.cuMemFree(0)
    assert cu.status == 4


def test_values_that_the_model_knows() -> None:
    cu = drive(Model(devices=3, complete=True)).setup()
    context = cu.model.primary_context(0)
    assert context is not None
    assert cu.cuDeviceGetCount() == 3
    assert cu.cuDeviceGet(2) == 2
    assert cu.cuCtxGetCurrent() == context.handle
    assert cu.cuDevicePrimaryCtxGetState(0) == (0, 1)
    stream = cu.cuStreamCreate(1)
    assert cu.cuStreamGetFlags(stream) == 1
    assert cu.cuStreamIsCapturing(stream) == 0
    cu.cuStreamBeginCapture(stream, 0)
    assert cu.cuStreamIsCapturing(stream) == 1


def test_the_context_of_a_green_context_shares_what_the_primary_one_has() -> None:
    cu = drive().setup()
    primary = current(cu)
    event, stream = cu.cuEventCreate(0), cu.cuStreamCreate(0)
    green = cu.cuGreenCtxCreate(0x1000, 0, 1)
    handle = cu.cuCtxFromGreenCtx(green)
    cu.cuCtxSetCurrent(handle)
    assert current(cu) is primary
    assert cu.cuCtxGetCurrent() == handle
    cu.cuEventRecord(event, 0)
    assert cu.status == 0
    cu.cuStreamBeginCapture(stream, 2)
    cu.cuCtxSynchronize()
    assert cu.status == 0
    cu.cuDevicePrimaryCtxReset(0)
    assert cu.status == 800


def test_there_has_to_be_something_to_pop() -> None:
    cu = drive().setup()
    for status in (0, 201):
        cu.cuCtxPopCurrent()
        assert cu.status == status


def test_a_green_context_retains_the_primary_context() -> None:
    cu = drive().setup()
    (primary,) = cu.model.objects(Kind.CONTEXT)
    green = cu.cuGreenCtxCreate(0, 0, 1)
    cu.cuDevicePrimaryCtxRelease(0)
    assert primary.alive
    cu.cuGreenCtxDestroy(green)
    assert not primary.alive


def test_a_default_stream_of_a_context_that_ended_is_as_dead() -> None:
    cu = drive().setup()
    ended, lost = cu.cuCtxCreate(0, 0, 0), cu.cuCtxCreate(0, 0, 0)
    with cu.in_thread(2):
        cu.cuCtxDestroy(ended)
    owners = [cu.model.context_at(handle) for handle in (ended, lost)]
    assert owners[1] is not None
    cu.model.lose(owners[1])
    for owner, ended_by in zip(owners, (cu.call, None), strict=True):
        cu.model.threads[1].stack = [owner]
        cu.cuCtxGetFlags()
        assert cu.call is not None and owner is not None
        stream = cu.model.default_stream(cu.call)
        assert stream is not None and stream.context is owner and not stream.alive
        assert stream.destroyed_by is (None if ended_by is None else owner.destroyed_by)
        assert stream.lost is (ended_by is None)
        assert stream.killed_by is (None if ended_by is None else owner)
        assert owner.default_streams == {}


def test_peers_are_contexts_that_live() -> None:
    cu = drive(Model(devices=2, complete=True)).setup()
    here, first = current(cu), cu.cuCtxCreate(0, 0, 1)
    cu.cuCtxPopCurrent()
    second = cu.cuDevicePrimaryCtxRetain(1)
    for peer in (first, second):
        cu.cuCtxEnablePeerAccess(peer, 0)
    assert here is not None
    assert [peer.handle for peer in here.peers] == [first, second]
    cu.cuCtxDestroy(first)
    third = cu.cuCtxCreate(0, 0, 1)
    cu.cuCtxPopCurrent()
    cu.cuCtxEnablePeerAccess(third, 0)
    assert [peer.handle for peer in here.peers] == [second, third]
    cu.cuCtxDisablePeerAccess(second)
    assert [peer.handle for peer in here.peers] == [third]
    cu.cuCtxDisablePeerAccess(0xBEEF00, status=0)
    cu.cuCtxEnablePeerAccess(0xBEEF00, 0, status=0)
    assert [peer.handle for peer in here.peers] == [third]
    cu.cuCtxSetCurrent(0)
    cu.cuCtxEnablePeerAccess(third, 0, status=0)
    cu.cuCtxDisablePeerAccess(third, status=0)


def test_what_green_contexts_made_is_the_primary_context_s_once_that_is_seen() -> None:
    cu = drive(Model(devices=2, complete=False))
    cu.cuInit(0)
    green, elsewhere = cu.cuGreenCtxCreate(0, 0, 1), cu.cuGreenCtxCreate(0, 1, 1)
    user = cu.cuCtxCreate(0, 0, 0)
    streams = [cu.cuGreenCtxStreamCreate(each, 1, 0) for each in (green, elsewhere)]
    other, mine = cu.cuCtxFromGreenCtx(elsewhere), cu.cuCtxFromGreenCtx(green)
    cu.cuCtxSetCurrent(mine)
    event = cu.model.find(Kind.EVENT, cu.cuEventCreate(0))
    primary = cu.model.context_at(cu.cuDevicePrimaryCtxRetain(0))
    found = [cu.model.find(Kind.STREAM, stream) for stream in streams]
    assert [each.context for each in found if each is not None] == [primary, None]
    assert primary is not None and event is not None
    assert event.parent is event.context is primary and event in primary.children
    for handle in (user, other):
        context = cu.model.context_at(handle)
        assert context is not None and context.alive
    assert primary.retained == 1 and cu.model.primaries == {0: primary}


def test_a_reset_is_remembered_of_a_device_that_was_not_used() -> None:
    cu = drive(Model(devices=2, complete=True)).setup()
    cu.cuDevicePrimaryCtxReset(1)
    assert cu.model.resets == {1: cu.call}
    cu.cuDevicePrimaryCtxReset(0)
    assert cu.model.resets[0] is cu.call and not cu.model.primaries[0].alive


def test_a_green_context_s_end_ends_the_primary_context_that_nobody_else_retains() -> None:
    cu = drive(Model(devices=2, complete=True)).setup()
    primary = cu.model.primaries[0]
    first, second = cu.cuGreenCtxCreate(0, 0, 1), cu.cuGreenCtxCreate(0, 1, 1)
    cu.cuDevicePrimaryCtxRelease(0)
    assert primary.alive and primary.retained == 0
    cu.cuGreenCtxDestroy(second)
    assert primary.alive
    cu.cuGreenCtxDestroy(first)
    assert not primary.alive and primary.destroyed_by is cu.call
    cu.cuGreenCtxDestroy(first, status=0)
    assert cu.model.resets == {0: primary.destroyed_by}
    cu.cuDevicePrimaryCtxRelease(0, status=0)
    assert primary.retained == 0


def test_an_error_of_another_context_stays_as_long_as_that_lives() -> None:
    cu = drive().setup()
    lost = cu.cuCtxCreate(0, 0, 0)
    cu.cuCtxSynchronize(status=719)
    error = cu.call
    assert cu.call is not None and error is not None
    cu.cuMemAlloc(64, status=700)
    assert cu.model.sticky_error(error) == (error, 719)
    cu.cuCtxPopCurrent()
    cu.cuCtxGetDevice()
    assert cu.call is not None and cu.model.sticky_error(cu.call) == (error, 719)
    cu.cuCtxPopCurrent()
    cu.cuCtxGetDevice()
    assert cu.model.sticky_error(cu.call) is None
    cu.cuCtxSetCurrent(lost)
    cu.cuCtxGetDevice()
    assert cu.model.sticky_error(cu.call) == (error, 719)


def test_the_newest_failure_of_a_thread_is_kept_but_not_that_work_is_pending() -> None:
    cu = drive().setup()
    cu.cuMemAlloc(64, status=2)
    failed = cu.call
    cu.cuStreamQuery(0, status=600)
    assert cu.model.last_failure(1) == (failed, 2)
    assert cu.model.last_failure(77) is None and cu.model.capture_mode(77) == 0
    assert 77 not in cu.model.threads


def test_a_capability_is_that_of_the_current_device() -> None:
    cu = drive(Model(devices=2, complete=True)).setup()
    cu.cuCtxGetDevice()
    call = cu.call
    assert call is not None and cu.model.capability(call) == 0
    cu.model.capabilities = (90,)
    assert cu.model.capability(call) == 90
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))
    cu.cuCtxGetDevice()
    assert cu.call is not None and cu.model.capability(cu.call) == 0
    cu.model.capabilities = (90, 100)
    assert cu.model.capability(cu.call) == 100
    cu.cuCtxSetCurrent(0)
    cu.cuCtxGetDevice()
    assert cu.model.capability(cu.call) == 0
