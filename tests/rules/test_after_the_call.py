"""What is explained only after a call: lost contexts, the driver's shutdown, faults of the host, leaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cuvet.catalog.roles import Kind
from cuvet.model import Allocation, Call, Launch, Outcome, Word
from cuvet.rules.afterwards import at_exit, explain_failure, explain_fault
from cuvet.rules.rule import Ended, Violation

from .simulated import SimulatedDriver

PROGRAM = str(Path(__file__))


class Failing(SimulatedDriver):
    """``fails`` names entry points and the status that they return."""

    def __init__(self) -> None:
        super().__init__(PROGRAM, 1)
        self.fails: dict[str, int] = {}
        self.explained: list[Violation | None] = []
        self.calls: list[Call] = []
        self.launches: tuple[Launch, ...] = ()

    def _make(self, call: Call) -> dict[int, int]:
        self.calls.append(call)
        status = self.fails.get(call.name)
        if status is None:
            return super()._make(call)
        self.status = status
        call.launches = self.launches
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


FREED = "argument 0 = {:#x} points into device-memory#1 (4 KiB by cuMemAlloc), which was freed before by cuMemFree"
WAITED = "kernel at k.cu:1 was launched before; its thread has synchronised neither context nor stream since"


def launch(*values: int, thread: int = 1, number: int = 1000, after_ns: int = 0, stream: int | None = 0) -> Launch:
    words = tuple(Word(parameter, 0, True, value, False) for parameter, value in enumerate(values))
    return Launch("kernel", stream, thread, number, after_ns, " at k.cu:1", words)


def told_about(cu: Failing, *launches: Launch) -> Violation:
    """What is said when the next call tells that the context was lost."""
    cu.launches, cu.fails = launches, {"cuCtxSynchronize": 700}
    cu.cuCtxSynchronize()
    (explained,) = cu.explained
    assert explained is not None
    return explained


def test_a_launch_that_was_given_freed_memory_is_named_first(cu: Failing) -> None:
    memory, other = cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
    cu.cuMemFree(memory)
    said = told_about(cu, launch(other), launch(memory), launch(other))
    assert said.because[1:] == (
        f"kernel at k.cu:1: {FREED.format(memory)}",
        WAITED.replace("before;", "before, 2 times;"),
    )
    assert [each.name for each in said.objects] == ["context#1", "device-memory#1"]


@pytest.mark.parametrize("when", ["later", "another thread, perhaps later", "never"])
def test_memory_that_is_not_known_to_have_been_freed_before_the_launch_is_no_suspect(cu: Failing, when: str) -> None:
    memory = cu.cuMemAlloc(4096)
    if when != "never":
        cu.cuMemFree(memory)
    made = {"later": launch(memory, number=1), "never": launch(memory)}.get(when, launch(memory, thread=2))
    waited = WAITED.replace(":1 was", ":1 (thread 2) was") if made.thread == 2 else WAITED
    assert told_about(cu, made).because[1:] == (waited,)


def test_memory_that_another_thread_freed_long_before_is_a_suspect(cu: Failing) -> None:
    memory = cu.cuMemAlloc(4096)
    cu.cuMemFree(memory)
    said = told_about(cu, launch(memory, thread=2, after_ns=1 << 60))
    assert said.because[1:] == (f"kernel at k.cu:1 (thread 2): {FREED.format(memory)}",)


def test_the_end_of_an_argument_s_memory_is_no_suspect(cu: Failing) -> None:
    memory = cu.cuMemAlloc(4096)
    cu.model.allocations.at(memory).size = 4096
    behind = cu.model.table.add(Allocation, Kind.MEMORY, memory + 4096, 0)
    behind.size = 4096
    cu.model.allocations.add(behind)
    cu.cuMemFree(memory + 4096)
    assert told_about(cu, launch(memory, memory + 4096)).because[1:] == (WAITED,)


def test_addresses_of_the_host_and_null_pointers(cu: Failing) -> None:
    host = Word(0, 0, True, 0x5000, True)
    null = Launch(
        "kernel", 0, 1, 1000, 0, " at k.cu:1", (Word(0, 0, True, 0, False), Word(1, 0, True, 0, False)), frozenset({1})
    )
    of_struct = replace(launch(), words=(Word(0, 8, False, 0x5000, True),))
    said = told_about(cu, replace(launch(), words=(host,)), null, of_struct)
    assert said.because[1:] == (
        "kernel at k.cu:1: argument 1 = 0x0 is a null pointer",
        "kernel at k.cu:1: argument 0 = 0x5000 points into memory of the host that CUDA does not know",
        WAITED,
    )


def test_memory_of_another_device_is_a_suspect_unless_access_was_given(cu: Failing) -> None:
    cu.model.devices = 2
    first = cu.cuCtxGetCurrent()
    second = cu.cuCtxCreate(0, 0, 1)
    memory = cu.cuMemAlloc(4096)
    cu.cuCtxSetCurrent(first)
    said = told_about(cu, launch(memory))
    assert said.because[1:] == (
        f"kernel at k.cu:1: argument 0 = {memory:#x} points into device-memory#1 (4 KiB by cuMemAlloc) of device 1, "
        "to which this context has no access",
    )
    assert second != first


def test_launches_on_streams_of_other_contexts_are_left_out(cu: Failing) -> None:
    first = cu.cuCtxGetCurrent()
    cu.cuCtxCreate(0, 0, 0)
    elsewhere = cu.cuStreamCreate(0)
    cu.cuCtxSetCurrent(first)
    assert told_about(cu, launch(stream=elsewhere)).because[1:] == ()


def test_many_sorts_of_launches_are_counted(cu: Failing) -> None:
    said = told_about(cu, *(replace(launch(), where=f" at k.cu:{line}") for line in range(100)))
    assert len(said.because) == 6
    assert said.because[-1] == "96 more sorts of launches were made before"


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
    (leak,) = at_exit(cu.model, Ended(leaks=True))
    assert (leak.message, leak.culprit) == ("device-memory#2 was never freed (128 bytes)", made)
    assert leak.objects == (cu.model.find(Kind.MEMORY, memory),)


def test_a_memory_pool_that_cuda_owns_is_no_leak(cu: Failing) -> None:
    cu.cuDeviceGetMemPool(0)
    assert list(at_exit(cu.model, Ended(leaks=True))) == []
