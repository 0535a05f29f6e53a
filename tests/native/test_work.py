"""What is stored where accesses are looked at: work, what orders it, and what lifecycle recordings store; and that all of it is judged."""

from __future__ import annotations

import pytest
from tests.native.conftest import Bench

from cuvet.analysis import analyze
from cuvet.recording.layout import CallFlag

PROGRAM = """
uint32_t cuDevicePrimaryCtxGetState(int32_t device, uint32_t *flags, int32_t *active);
uint32_t cuStreamWaitEvent(handle stream, handle event, uint32_t flags);
uint32_t cuMemsetD8Async(handle address, uint8_t value, size_t count, handle stream);
int main(int count, char **arguments) {
    start();
    handle first, second, event, memory, other, current;
    uint32_t flags = 0;
    int32_t active;
    cuStreamCreate(&first, 1);
    cuStreamCreate(&second, 1);
    cuEventCreate(&event, 0);
    cuMemAlloc_v2(&memory, 256);
    cuMemAlloc_v2(&other, 256);
    cuCtxSynchronize();
    %s
    return 0;
}
"""
STREAMS = ("first", "second")
STORE = (
    ".version 8.0 .target sm_90 .address_size 64 "
    ".visible .entry store(.param .u64 memory, .param .u32 number, .param .u64 other) "
    "{ .reg .b64 %rd<2>; ld.param.u64 %rd1, [memory]; st.global.u32 [%rd1], 1; ret; }"
)
HEAD = "uint32_t cuCtxSynchronize(void);"


def stored(bench: Bench, body: str, record: str = "accesses", **environment: str) -> list[tuple[str, bool]]:
    """Names of the calls behind cuCtxSynchronize, and whether each has a stack."""
    trace = bench.run(HEAD + PROGRAM.replace("%s", body), CUVET_RECORD=record, **environment).trace
    names = [(trace.name(call), call.stack != 0) for call in trace.calls]
    return names[[name for name, _ in names].index("cuCtxSynchronize") + 1 :]


QUESTIONS = "cuCtxGetCurrent(&current); cuDevicePrimaryCtxGetState(0, &flags, &active); cuCtxSetCurrent(context);"


def test_calls_that_only_ask_are_not_stored(bench: Bench) -> None:
    assert stored(bench, QUESTIONS) == []


def test_a_full_recording_stores_them(bench: Bench) -> None:
    assert len(stored(bench, QUESTIONS, "full")) == 3


def test_work_and_what_orders_it_have_a_stack(bench: Bench) -> None:
    body = "cuMemsetD8Async(memory, 0, 64, first); cuEventRecord(event, first); cuStreamWaitEvent(second, event, 0);"
    expected = ["cuMemsetD8Async", "cuEventRecord", "cuStreamWaitEvent"]
    assert stored(bench, body) == [(name, True) for name in expected]


def test_questions_that_found_work_done_are_stored(bench: Bench) -> None:
    assert stored(bench, "cuEventRecord(event, first); cuEventQuery(event); cuStreamQuery(first);")[1:] == [
        ("cuEventQuery", False),
        ("cuStreamQuery", False),
    ]


def test_questions_that_found_work_unfinished_are_not(bench: Bench) -> None:
    body = "cuEventRecord(event, first); cuEventQuery(event); cuStreamQuery(first);"
    fail = {"NULL_DRIVER_FAIL": "cuEventQuery=600,cuStreamQuery=600"}
    assert stored(bench, body, **fail) == [("cuEventRecord", True)]


def test_a_call_that_fails_is_stored(bench: Bench) -> None:
    assert stored(bench, QUESTIONS, NULL_DRIVER_FAIL="cuCtxSetCurrent=201") == [("cuCtxSetCurrent", True)]


def test_work_that_is_made_again_is_stored_in_short(bench: Bench) -> None:
    body = "for (int i = 0; i < 1000; i++) cuMemcpyAsync(memory, memory + 128, 64, first);"
    trace = bench.run(HEAD + PROGRAM.replace("%s", body), CUVET_RECORD="accesses").trace
    assert all(call.flags & CallFlag.WORK for call in trace.named("cuMemcpyAsync"))
    assert len(trace.named("cuMemcpyAsync")) == 1000
    assert int(trace.header["chunks"]) <= 3


@pytest.mark.parametrize(("wait", "found"), [("", ["race-between-streams"]), ("cuStreamSynchronize(first);", [])])
def test_each_access_counts_not_only_the_last_of_a_stream(bench: Bench, wait: str, found: list[str]) -> None:
    first = "cuMemsetD8Async(memory, 0, 64, first); cuMemsetD8Async(other, 0, 64, first);"
    bench.run(HEAD + PROGRAM % f"{first} {wait} cuMemsetD8Async(memory, 0, 64, second);", CUVET_RECORD="accesses")
    assert [each.name for each in analyze([bench.folder / "trace"]).findings] == found


def test_memory_that_lives_for_a_short_time_is_judged(bench: Bench) -> None:
    """What is named only by the calls that make and end it is left out. A kernel's arguments name memory, too."""
    again = "for (int i = 0; i < 300; i++) { cuMemAlloc_v2(&other, 32 << rand() % 2); cuMemFree_v2(other); }"
    launches = "".join(f"cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, {stream}, given, 0);" for stream in STREAMS)
    body = f"""
    handle module, kernel;
    void *given[] = {{&other, &flags, &other}};
    cuModuleLoadData(&module, "{STORE}");
    cuModuleGetFunction(&kernel, module, "store");
    {again} cuMemAlloc_v2(&other, 64); {launches} cuMemFree_v2(other); {again}"""
    bench.run(HEAD + PROGRAM.replace("%s", body), CUVET_RECORD="accesses")
    assert [each.name for each in analyze([bench.folder / "trace"]).findings] == ["race-between-streams"]


MANY = f"""
    handle module, kernel;
    void *given[] = {{&memory, &flags, &memory}};
    cuModuleLoadData(&module, "{STORE}");
    cuModuleGetFunction(&kernel, module, "store");
    for (; flags < 300; flags++) cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, first, given, 0);
    flags = NUMBER;
    cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, second, given, 0);"""


@pytest.mark.parametrize(("number", "found", "left_out"), [(300, [], 45), (7, ["race-between-streams"], 44)])
def test_launches_that_all_differ_are_not_all_followed(
    bench: Bench, number: int, found: list[str], left_out: int
) -> None:
    """A race of one that is not followed is missed, and said to be."""
    bench.run(HEAD + PROGRAM.replace("%s", MANY.replace("NUMBER", str(number))), CUVET_RECORD="accesses")
    report = analyze([bench.folder / "trace"])
    assert [each.name for each in report.findings] == found
    assert f"{left_out} launches of store were not compared with other work: too many differ" in report.not_checked
