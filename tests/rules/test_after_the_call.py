"""What is explained only after a call: lost contexts, the driver's shutdown, faults of the host, leaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from cuvet.catalog.roles import Kind
from cuvet.kernels import Program
from cuvet.model import Allocation, Call, HostMemory, Launch, Outcome, Word
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
        self.more = False

    def _make(self, call: Call) -> dict[int, int]:
        self.calls.append(call)
        status = self.fails.get(call.name)
        if status is None:
            return super()._make(call)
        self.status = status
        call.launches, call.more_launches = self.launches, self.more
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
    points = "its argument 0 points to device-memory#1 (4 KiB by cuMemAlloc)"
    assert told_about(cu, made).because[1:] == ((waited, points) if when == "never" else (waited,))


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
    assert told_about(cu, launch(memory, memory + 4096)).because[1:] == (
        WAITED,
        "its argument 0 points to device-memory#1 (4 KiB by cuMemAlloc)",
    )


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
    here = replace(launch(memory), context=cu.model.context_at(first))
    said = told_about(cu, launch(memory), here)
    assert said.because[1:] == (
        f"kernel at k.cu:1: argument 0 = {memory:#x} points into device-memory#1 (4 KiB by cuMemAlloc) of device 1, "
        "to which this context has no access",
        WAITED,
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


# Verdicts. A kernel whose threads cannot be followed to the access: what it does depends on memory, or on an instruction that is not known.

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
BODY = """.visible .entry kernel(.param .u64 a, .param .u64 b, .param .u32 n)
{{ .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;
ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r3, [n]; mov.u32 %r1, %tid.x;
{} ret; }}"""
UNKNOWN = "unheard.of.u32 %r5, %r1;"
"""Here following ends."""
STORE = "mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; st.global.u32 [%d4], 0;"
GUARDED = f"setp.ge.u32 %p1, %r1, %r3; @%p1 bra L; {UNKNOWN} {STORE} L:"


def coded(body: str, *values: int | None, number: int = 1000, **fields: object) -> Launch:
    words = tuple(Word(parameter, 0, True, value, False) for parameter, value in enumerate(values))
    made = Launch("kernel", 0, 1, number, 0, " at k.cu:1", words, frozenset({0, 1}), (1, 1, 1), (32, 1, 1))
    code = Program(lambda: HEAD + BODY.format(body))
    return replace(made, symbol="kernel", code=code, **fields)  # type: ignore[arg-type]


def has_verdict(said: Violation) -> bool:
    return any(line.startswith("verdict: ") for line in said.because)


def large(cu: Failing) -> tuple[int, int]:
    """Memory that was freed and has its pages alone, and memory that was not."""
    freed, alive = cu.cuMemAlloc(8 << 20), cu.cuMemAlloc(8 << 20)
    cu.cuMemFree(freed)
    return freed, alive


def test_an_argument_that_the_code_uses_is_a_verdict_if_nothing_else_is_wrong(cu: Failing) -> None:
    freed, alive = large(cu)
    said = told_about(cu, coded(GUARDED, freed, alive), coded(GUARDED, alive, alive, where=" at k.cu:9"))
    assert said.because[1].startswith(f"verdict: kernel<<<1, 32>>> at k.cu:1: argument 0 = {freed:#x} points into ")
    assert said.because[-1] == "the other launches that were not waited for (1) have no such argument"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d2, %d3; st.global.u32 [%d4], 0;", "another argument is used"),
        (f"setp.eq.u32 %p1, %r3, 0; @%p1 bra L; {UNKNOWN} {STORE} L:", "a number decides"),
        (f"setp.eq.s64 %p1, %d1, 0; @%p1 bra L; {UNKNOWN} {STORE} L:", "the pointer itself decides"),
        (f"setp.eq.u32 %p1, %r3, 0; {UNKNOWN} @!%p1 st.global.u32 [%d1], 0;", "a number decides, without a branch"),
        (f"ld.global.u32 %r6, [%d2]; setp.eq.u32 %p1, %r6, 0; @%p1 bra L; {STORE} L:", "memory decides"),
        (f"ld.global.u64 %d5, [%d2]; st.global.u32 [%d5], 0; {UNKNOWN} {STORE} exit;", "it may use pointers in memory"),
        (f"{UNKNOWN} call somewhere, (%d1);", "what it calls is not known"),
        ("cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 16;", "how it uses it is not known"),
        (f"add.s64 %d4, %d1, %d2; {UNKNOWN} st.global.u32 [%d4], 0;", "either may be the pointer"),
        ("", "it does nothing"),
    ],
)  # fmt: skip
def test_code_that_may_not_use_the_argument_withholds_the_verdict(cu: Failing, body: str, why: str) -> None:
    freed, alive = large(cu)
    assert not has_verdict(told_about(cu, coded(body, freed, alive))), why


@pytest.mark.parametrize(
    "other",
    [
        "another suspect",
        "an argument that could not be read",
        "unknown code with null",
        "older launches",
        "other status",
    ],
)
def test_another_possible_cause_withholds_the_verdict(cu: Failing, other: str) -> None:
    freed, alive = large(cu)
    second = cu.cuMemAlloc(8 << 20) if other == "another suspect" else 0
    if second:
        cu.cuMemFree(second)
    launches = {
        "another suspect": [replace(launch(second), where=" at k.cu:2")],
        "an argument that could not be read": [replace(launch(), words=(Word(0, 0, True, None, False),))],
        "unknown code with null": [replace(launch(0), pointers=frozenset({0}))],
    }.get(other, [])
    cu.launches = (coded(GUARDED, freed, alive), *launches)
    cu.more = other == "older launches"
    cu.fails = {"cuCtxSynchronize": 719 if other == "other status" else 700}
    cu.cuCtxSynchronize()
    (said,) = cu.explained
    assert said is not None
    assert not has_verdict(said)
    assert any(f"argument 0 = {freed:#x}" in line for line in said.because)


@pytest.mark.parametrize("state", ["shared page", "stream-ordered", "freed later", "issued again", "pinned beside"])
def test_memory_that_may_be_there_withholds_the_verdict(cu: Failing, state: str) -> None:
    if state == "stream-ordered":
        stream = cu.cuStreamCreate(0)
        freed = cu.cuMemAllocAsync(8 << 20, stream)
        cu.cuMemFreeAsync(freed, stream)
        cu.cuStreamSynchronize(stream)
    else:
        freed, _ = large(cu)
    page = freed >> 21 << 21
    if state in ("shared page", "issued again"):
        made = cu.model.table.add(Allocation, Kind.MEMORY, page + (1 << 20) if state == "shared page" else freed, 0)
        made.size, made.variant = 1 << 20, "linear"
        cu.model.allocations.add(made)
    if state == "pinned beside":
        pinned = cu.model.table.add(HostMemory, Kind.HOST_MEMORY, page + (1 << 20), 0)
        pinned.size = 4096
        cu.model.host_memory.add(pinned)
    number = 1 if state == "freed later" else 1000
    assert not has_verdict(told_about(cu, coded(GUARDED, freed, 0x10, number=number)))


def test_a_null_pointer_that_a_thread_certainly_uses_is_a_verdict(cu: Failing) -> None:
    said = told_about(cu, coded("st.global.u32 [%d1], 0;", 0, 0))
    assert (
        said.because[1] == "verdict: kernel<<<1, 32>>> at k.cu:1: argument 0 = 0x0 is a null pointer; its code uses it"
    )


@pytest.mark.parametrize("beyond", [4096, 64 << 20, 1 << 40])
def test_an_access_beyond_memory_is_a_verdict_if_its_page_is_empty(cu: Failing, beyond: int) -> None:
    memory = cu.cuMemAlloc(4096)
    said = told_about(cu, coded(f"st.global.u32 [%d1+{beyond}], 0;", memory, None))
    assert has_verdict(said) is (beyond > 4096)
    if beyond > 4096:
        assert f"{beyond - 4096:,} bytes beyond the end of device-memory#1 (4 KiB" in said.because[1]


def test_a_thread_that_certainly_uses_another_launch_s_memory_is_no_verdict(cu: Failing) -> None:
    memory, other = cu.cuMemAlloc(4096), cu.cuMemAlloc(8 << 20)
    assert not has_verdict(told_about(cu, coded(f"st.global.u32 [%d1+{other - memory}], 0;", memory, None)))


def test_two_launches_that_certainly_fail_are_candidates(cu: Failing) -> None:
    first = coded("st.global.u32 [%d1], 0;", 0, 0)
    said = told_about(cu, first, replace(first, where=" at k.cu:2"))
    assert not has_verdict(said)
    assert len([line for line in said.because if "null pointer" in line]) == 2


@pytest.mark.parametrize(("pageable", "verdict"), [(True, False), (False, True)])
def test_memory_of_the_host_is_out_of_reach_only_where_the_driver_says_so(
    cu: Failing, pageable: bool, verdict: bool
) -> None:
    cu.model.not_pageable = frozenset() if pageable else frozenset({0})
    made = coded("st.global.u32 [%d1], 0;", 0x5000_0000, 0x5000_0000)
    words = (Word(0, 0, True, 0x5000_0000, True),)
    assert has_verdict(told_about(cu, replace(made, words=words))) is verdict


@pytest.mark.parametrize(("status", "verdict"), [(700, False), (719, True), (710, False), (716, False)])
def test_a_trap_explains_its_own_status_only(cu: Failing, status: int, verdict: bool) -> None:
    cu.launches, cu.fails = (coded("trap;", 0x10, 0x10),), {"cuCtxSynchronize": status}
    cu.cuCtxSynchronize()
    (said,) = cu.explained
    assert said is not None
    assert has_verdict(said) is verdict


@pytest.mark.parametrize("beside", [True, False])
def test_memory_that_was_freed_after_the_launch_may_be_there(cu: Failing, beside: bool) -> None:
    freed, last = cu.cuMemAlloc(8 << 20), cu.cuMemAlloc(4096)
    if beside:
        near = cu.model.allocations.at(last)
        cu.model.allocations.end(near)
        near.handle = freed + (8 << 20) - 4096
        cu.model.allocations.add(near)
    cu.cuMemFree(freed)
    made = coded(GUARDED, freed + (7 << 20), 0x10, number=cu.calls[-1].number + 1)
    if beside:
        near.destroyed_by = structs.replace(cu.calls[-1], number=cu.calls[-1].number + 5)
        cu.model.allocations.end(near)
    assert freed % (2 << 20) == 0
    assert has_verdict(told_about(cu, made)) is not beside


def test_an_access_beyond_memory_is_no_verdict_if_it_is_not_known_where_it_ran(cu: Failing) -> None:
    first = cu.cuCtxGetCurrent()
    cu.cuCtxCreate(0, 0, 0)
    cu.cuCtxSetCurrent(first)
    memory = cu.cuMemAlloc(4096)
    made = coded("st.global.u32 [%d1+67108864], 0;", memory, None)
    assert not has_verdict(told_about(cu, made))


def test_an_access_that_is_not_aligned_explains_its_own_status(cu: Failing) -> None:
    memory = cu.cuMemAlloc(4096)
    cu.launches, cu.fails = (coded("st.global.u32 [%d1+2], 0;", memory, memory),), {"cuCtxSynchronize": 716}
    cu.cuCtxSynchronize()
    (said,) = cu.explained
    assert said is not None
    assert said.because[1].endswith(f"its code accesses 4 bytes at {memory + 2:#x}, which is no multiple of 4")


@pytest.mark.parametrize("status", [702, 710, 714, 715, 716, 717, 718])
def test_other_errors_than_of_addresses_accuse_no_argument(cu: Failing, status: int) -> None:
    freed, _ = large(cu)
    cu.launches, cu.fails = (launch(freed),), {"cuCtxSynchronize": status}
    cu.cuCtxSynchronize()
    (said,) = cu.explained
    assert said is not None
    assert said.because[1:] == (WAITED,)


@pytest.mark.parametrize(("where", "verdict"), [(" at k.cu:1", True), (" at k.cu:2", False)])
def test_of_launches_that_make_the_same_mistake_the_oldest_is_the_verdict(
    cu: Failing, where: str, verdict: bool
) -> None:
    freed, _ = large(cu)
    first = coded("st.global.u32 [%d1], 0;", freed, None)
    second = replace(coded("st.global.u32 [%d1], 0;", freed + 64, None), where=where)
    said = told_about(cu, first, second)
    assert has_verdict(said) is verdict
    assert not verdict or f"argument 0 = {freed:#x} " in said.because[1]


@pytest.mark.parametrize("more", [True, False])
def test_that_launches_may_be_missing_is_said(cu: Failing, more: bool) -> None:
    cu.more = more
    said = told_about(cu, launch())
    assert any(line.startswith("there may be others: ") for line in said.because) is more
