"""What is explained only after a call: lost contexts, the driver's shutdown, faults of the host, leaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.catalog.roles import Kind
from cuvet.model import Call, Outcome
from cuvet.rules.error import explain_failure
from cuvet.rules.exit.leak import leaks
from cuvet.rules.memory.dereferenced_on_host import explain_fault
from cuvet.rules.rule import Violation

from .simulated import SimulatedDriver

PROGRAM = str(Path(__file__))


class Failing(SimulatedDriver):
    """``fails`` names entry points and the status that they return."""

    def __init__(self) -> None:
        super().__init__(PROGRAM, 1)
        self.fails: dict[str, int] = {}
        self.explained: list[Violation | None] = []
        self.calls: list[Call] = []

    def _make(self, call: Call) -> dict[int, int]:
        self.calls.append(call)
        status = self.fails.get(call.name)
        if status is None:
            return super()._make(call)
        self.status = status
        outcome = Outcome(status)
        self.model.observe(call, outcome)
        self.explained.append(explain_failure(call, outcome, self.model))
        return {}


@pytest.fixture
def cu() -> Failing:
    cu = Failing()
    cu.cuInit(0)
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
    return cu


def test_failures_after_a_lost_context_are_one_finding_at_the_first(cu: Failing) -> None:
    stream = cu.cuStreamCreate(0)
    cu.launch(cu.kernel(), stream, 0)
    cu.fails = {"cuStreamSynchronize": 700, "cuMemAlloc": 700, "cuEventCreate": 700}
    cu.cuStreamSynchronize(stream)
    first = cu.calls[-1]
    cu.cuMemAlloc(64)
    cu.cuEventCreate(0)
    assert [each and (each.rule.name, each.culprit) for each in cu.explained] == [("error-sticky", first)] * 3
    assert cu.explained[0] is not None
    assert cu.explained[0].message == (
        "a kernel used an address that is not valid before this call (CUDA_ERROR_ILLEGAL_ADDRESS); context#1 is lost"
    )
    assert any("last launch seen on stream#1: trivial by thread 1" in line for line in cu.explained[0].because)


def test_a_device_that_is_unavailable_after_the_reset_counts_too(cu: Failing) -> None:
    cu.fails = {"cuCtxSynchronize": 719}
    cu.cuCtxSynchronize()
    first = cu.calls[-1]
    cu.cuDevicePrimaryCtxReset(0)
    cu.fails = {"cuDevicePrimaryCtxRetain": 46}
    cu.cuDevicePrimaryCtxRetain(0)
    assert [each and each.culprit for each in cu.explained] == [first, first]


def test_other_failures_are_not_explained_by_a_lost_context(cu: Failing) -> None:
    cu.fails = {"cuCtxSynchronize": 700, "cuDeviceGet": 101}
    cu.cuDeviceGet(99)
    cu.cuCtxSynchronize()
    cu.cuDeviceGet(99)
    assert [each is None for each in cu.explained] == [True, False, True]


def test_unavailable_without_a_lost_context_is_not_explained(cu: Failing) -> None:
    cu.fails = {"cuDevicePrimaryCtxRetain": 46}
    cu.cuDevicePrimaryCtxRetain(0)
    assert cu.explained == [None]


def test_calls_after_shutdown_are_reported_but_not_the_runtimes_own(cu: Failing) -> None:
    library = cu.cuLibraryLoadData(cu.ptx, 0, 0, 0, 0, 0, 0)
    stream = cu.cuStreamCreate(0)
    cu.fails = dict.fromkeys(("cuLibraryUnload", "cuStreamDestroy", "cuMemFree", "cuDriverGetVersion"), 4)
    cu.cuLibraryUnload(library)
    cu.cuDriverGetVersion()
    cu.cuStreamDestroy(stream)
    cu.cuMemFree(0x7F0000000000)
    names = [each and each.rule.name for each in cu.explained]
    assert names == [None, None, "exit-call-after-shutdown", "exit-call-after-shutdown"]


def test_a_fault_in_device_memory_names_the_memory(cu: Failing) -> None:
    memory = cu.cuMemAlloc(4096)
    living = explain_fault(memory + 8, cu.model)
    assert living is not None
    assert living.message == "the host accessed device-memory#1 at byte 8, which is device memory"
    cu.cuMemFree(memory)
    freed = explain_fault(memory, cu.model)
    assert freed is not None
    assert freed.message == "the host accessed device-memory#1 at byte 0 after it was freed"
    assert freed.because


def test_a_fault_elsewhere_is_not_explained(cu: Failing) -> None:
    managed = cu.cuMemAllocManaged(4096, 1)
    pinned = cu.cuMemHostAlloc(4096, 0)
    assert [explain_fault(address, cu.model) for address in (0, 0xDEAD000, managed, pinned)] == [None] * 4


def test_leaks_are_what_the_program_made_and_did_not_end(cu: Failing) -> None:
    cu.cuMemFree(cu.cuMemAlloc(64))
    cu.cuStreamSynchronize(0)
    cu.cuDeviceGetDefaultMemPool(0)
    memory = cu.cuMemAlloc(128)
    made = cu.calls[-1]
    (leak,) = leaks(cu.model)
    assert (leak.message, leak.culprit) == ("device-memory#2 was never freed (128 bytes)", made)
    assert leak.objects == (cu.model.find(Kind.MEMORY, memory),)


def test_a_memory_pool_that_cuda_owns_is_no_leak(cu: Failing) -> None:
    cu.cuDeviceGetMemPool(0)
    assert list(leaks(cu.model)) == []
