"""Which of several things that are wrong with a call decides what it returns, as recorded on an NVIDIA H200 with driver 580.159.04."""

from __future__ import annotations

import pytest

from cuvet.model.precedence import EXCEPTIONS, ORDER
from cuvet.rules import model_rules

from .driving import Drive, drive

INVALID_VALUE, NOT_INITIALIZED, INVALID_DEVICE = 1, 3, 101
INVALID_CONTEXT, INVALID_HANDLE, DESTROYED, UNSUPPORTED = 201, 400, 709, 900
GLOBAL = 0


@pytest.fixture
def cu() -> Drive:
    return drive().setup()


def forbid(cu: Drive) -> None:
    """A capture that forbids the thread what is not safe."""
    cu.cuStreamBeginCapture(cu.cuStreamCreate(1), GLOBAL)


def test_before_initialisation_nothing_else_counts() -> None:
    cu = drive()
    cu.cuEventCreate(0xFF)
    assert cu.prediction.statuses == (NOT_INITIALIZED,)


def test_the_context_comes_before_flags_and_handles(cu: Drive) -> None:
    cu.cuCtxSetCurrent(0)
    for call in (
        lambda: cu.cuEventCreate(0xFF),
        lambda: cu.cuStreamWaitEvent(0, 0, 7),
        lambda: cu.cuEventRecord(0, 0),
        lambda: cu.cuMemHostGetFlags(0x1000),
    ):
        call()
        assert cu.prediction.statuses == (INVALID_CONTEXT,)


def test_a_destroyed_context_is_not_even_good_to_free_nothing(cu: Drive) -> None:
    cu.cuDevicePrimaryCtxReset(0)
    cu.cuMemFree(0)
    assert cu.prediction.statuses == (DESTROYED,)
    cu.cuCtxSetCurrent(0)
    cu.cuMemFree(0)
    assert cu.prediction.statuses == (0,)


def test_flags_come_before_handles(cu: Drive) -> None:
    cu.cuStreamWaitEvent(0, 0, 7)
    assert cu.prediction.statuses == (INVALID_VALUE,)
    cu.cuStreamWaitEvent(0, 0, 0)
    assert cu.prediction.statuses == (INVALID_HANDLE,)


def test_captures_come_before_flags(cu: Drive) -> None:
    forbid(cu)
    cu.cuMemHostAlloc(4096, 64)
    assert cu.prediction.statuses == (UNSUPPORTED,)


def test_managed_memory_is_told_its_flags_first(cu: Drive) -> None:
    forbid(cu)
    cu.cuMemAllocManaged(4096, 0)
    assert cu.prediction.statuses == (INVALID_VALUE,)
    cu.cuMemAllocManaged(4096, 1)
    assert cu.prediction.statuses == (UNSUPPORTED,)


def test_the_event_comes_before_the_capture_where_the_host_waits(cu: Drive) -> None:
    forbid(cu)
    for ask in (cu.cuEventQuery, cu.cuEventSynchronize):
        ask(0)
        assert cu.prediction.statuses == (INVALID_HANDLE,)


def test_findings_do_not_depend_on_what_decides(cu: Drive) -> None:
    cu.cuStreamWaitEvent(0, 0, 7)
    assert {violation.rule.name for violation in cu.prediction.violations} == {
        "argument-bad-flags",
        "event-null-handle",
    }


def test_a_device_that_is_not_there(cu: Drive) -> None:
    for number in (-1, 77):
        cu.cuDevicePrimaryCtxRetain(number)
        assert cu.prediction.statuses == (INVALID_DEVICE,)
        cu.cuDeviceGetMemPool(number)
        assert cu.prediction.statuses == (INVALID_VALUE,)


def test_every_order_has_every_stage() -> None:
    assert all(sorted(order, key=ORDER.index) == list(ORDER) for order in EXCEPTIONS.values())
    assert {rule.stage for rule in model_rules()} <= set(ORDER)
