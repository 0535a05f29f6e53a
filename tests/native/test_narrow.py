"""CUVET_NARROW: the shim waits for each launch, and the launch after which the context is lost tells so itself."""

from __future__ import annotations

import pytest
from tests.native.conftest import Bench, Run

from cuvet.analysis import analyze
from cuvet.catalog import driver
from cuvet.recording.launches import unwaited
from cuvet.recording.layout import NoteCode

NUMBERS = {entry_point.id: entry_point for entry_point in driver().entry_points}
LOST, NOT_READY = 700, 600
PROGRAM = """
uint32_t cuCtxSynchronize(void);
uint32_t cuLaunchKernel_ptsz(handle f, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, handle, void **, void **);
uint32_t cuGraphInstantiateWithFlags(handle *exec, handle graph, uint64_t flags);
uint32_t cuGraphLaunch(handle exec, handle stream);
static handle module, function, stream;
static uint32_t go(uint64_t first) {
    void *arguments[] = {&first, &(int){2}, &(uint64_t){3}};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0);
}
static void prepare(void) {
    start();
    CHECK(cuStreamCreate(&stream, 0) == 0);
    CHECK(cuModuleLoadData(&module, "image") == 0 && cuModuleGetFunction(&function, module, "kernel") == 0);
}
"""
WAIT = ["cuStreamQuery", "cuStreamSynchronize"]


def narrowed(bench: Bench, body: str, **environment: str) -> tuple[Run, list[str]]:
    """The run, and the calls that reached the driver from the first launch on."""
    log = bench.folder / "log"
    settings = {"CUVET_NARROW": "1", "NULL_DRIVER_LOG": str(log), **environment}
    run = bench.run(
        f"{PROGRAM}\n{body}" if "int main" in body else f"{PROGRAM}\nint main(void) {{ prepare(); {body} return 0; }}",
        **settings,
    )
    assert run.returncode == 0, run.stderr
    reached = [line.split()[0] for line in log.read_text().splitlines()]
    asked = ("cuThreadExchangeStreamCaptureMode", "cuStreamIsCapturing", "cuFuncGetParamInfo", "cuCtxGetCurrent")
    return run, [name for name in reached[reached.index("cuModuleGetFunction") + 1 :] if name not in asked]


def sticky(bench: Bench) -> tuple[str, ...]:
    """What the report says of the lost context."""
    (finding,) = (each for each in analyze([bench.folder / "trace"]).findings if each.name == "error-sticky")
    return finding.because


@pytest.mark.parametrize("record", ["lifecycle", "full"])
def test_a_launch_is_waited_for_before_and_after(bench: Bench, record: str) -> None:
    run, reached = narrowed(bench, "CHECK(go(1) == 0 && go(2) == 0);", CUVET_RECORD=record)
    assert reached == [*WAIT, "cuLaunchKernel", *WAIT] * 2
    assert run.trace.recording.awaits_all


def test_without_the_option_nothing_is_waited_for(bench: Bench) -> None:
    run, reached = narrowed(bench, "CHECK(go(1) == 0 && go(2) == 0);", CUVET_NARROW="")
    assert reached == ["cuLaunchKernel"] * 2
    assert not run.trace.recording.awaits_all


def test_launches_before_the_nth_are_not_waited_for(bench: Bench) -> None:
    run, reached = narrowed(bench, "CHECK(go(1) == 0 && go(2) == 0 && go(3) == 0);", CUVET_NARROW="3")
    assert reached == ["cuLaunchKernel", "cuLaunchKernel", *WAIT, "cuLaunchKernel", *WAIT]
    assert not run.trace.recording.awaits_all


@pytest.mark.parametrize("record", ["lifecycle", "full", "accesses"])
def test_the_launch_that_loses_the_context_tells_so_and_is_the_only_candidate(bench: Bench, record: str) -> None:
    run, _ = narrowed(
        bench,
        f"CHECK(go(1) == 0 && go(2) == 0 && go(3) == {LOST} && go(4) == {LOST} && cuCtxSynchronize() == {LOST});",
        NULL_DRIVER_LOSE="3",
        CUVET_RECORD=record,
    )
    recording, failed = run.trace.recording, [call for call in run.trace.calls if call.status == LOST]
    assert [call.awaited for call in failed] == [True, False, False]
    assert failed[0].stack
    ((key, (ring,)),) = recording.launches.items()
    assert key == (failed[0].thread, failed[0].number)
    (candidate,) = unwaited(ring, recording, NUMBERS.get).launches
    assert (candidate.number, candidate.words[0].value) == (failed[0].number, 3)


def test_what_failed_before_the_launch_is_not_its_fault(bench: Bench) -> None:
    run, _ = narrowed(bench, f"CHECK(go(1) == 0 && go(2) == {LOST});", NULL_DRIVER_LOSE="1", CUVET_NARROW="2")
    assert [call.awaited for call in run.trace.calls if call.status == LOST] == [False]


def test_a_graph_is_waited_for(bench: Bench) -> None:
    run, reached = narrowed(
        bench,
        f"""handle graph, exec;
        CHECK(cuGraphCreate(&graph, 0) == 0 && cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
        CHECK(cuGraphLaunch(exec, stream) == 0 && cuGraphLaunch(exec, stream) == {LOST});""",
        NULL_DRIVER_LOSE="2",
    )
    assert reached[2:] == [*WAIT, "cuGraphLaunch", *WAIT] * 2
    assert run.trace.one("cuGraphLaunch").awaited


def test_a_launch_that_is_captured_is_not_waited_for(bench: Bench) -> None:
    _, reached = narrowed(bench, "CHECK(go(1) == 0);", NULL_DRIVER_CAPTURING="1")
    assert reached == ["cuLaunchKernel"]


def test_the_thread_s_own_default_stream_is_the_one_that_is_asked(bench: Bench) -> None:
    narrowed(bench, "CHECK(cuLaunchKernel_ptsz(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0) == 0);")
    lines = [line.split() for line in (bench.folder / "log").read_text().splitlines()]
    assert {stream for name, *words in lines if name in WAIT for stream in words} == {"2"}


def test_the_mode_of_captures_is_relaxed_meanwhile_and_as_before_afterwards(bench: Bench) -> None:
    narrowed(
        bench,
        """
        uint32_t cuThreadExchangeStreamCaptureMode(uint32_t *mode);
        uint32_t mode = 1;
        CHECK(cuThreadExchangeStreamCaptureMode(&mode) == 0 && mode == 0);
        CHECK(go(1) == 0 && cuThreadExchangeStreamCaptureMode(&mode) == 0 && mode == 1);""",
    )
    names = [line.split()[0] for line in (bench.folder / "log").read_text().splitlines()]
    exchanges = [name == "cuThreadExchangeStreamCaptureMode" for name in names]
    asked = [place for place, name in enumerate(names) if name in (*WAIT, "cuStreamIsCapturing")]
    assert len(asked) == 5
    assert all(sum(exchanges[:place]) % 2 == 0 for place in asked)  # the program's own and ours


def test_a_launch_that_fails_by_itself_keeps_its_status(bench: Bench) -> None:
    run, reached = narrowed(bench, "CHECK(go(1) == 1 && go(2) == 1);", NULL_DRIVER_FAIL="cuLaunchKernel=1")
    assert reached == [*WAIT, "cuLaunchKernel"] * 2
    assert not any(call.awaited for call in run.trace.calls)


CLOCK = """
#include <time.h>
static volatile int seconds;
int clock_gettime(clockid_t clock, struct timespec *now) { now->tv_sec = seconds++; now->tv_nsec = 0; return 0; }
int nanosleep(const struct timespec *wanted, struct timespec *left) { return 0; }
int main(void) { prepare(); CHECK(go(1) == 0 && go(2) == 0); return 0; }
"""


def test_work_that_does_not_end_is_waited_for_ten_seconds_once(bench: Bench) -> None:
    run, reached = narrowed(bench, CLOCK, NULL_DRIVER_FAIL=f"cuStreamQuery={NOT_READY}")
    assert reached.count("cuStreamQuery") in range(10, 13)
    assert reached[-2:] == ["cuLaunchKernel"] * 2
    assert [(note.code, note.text) for note in run.trace.recording.notes] == [(NoteCode.NOT_AWAITED, "1")]
    assert not run.trace.recording.awaits_all


FORKED = """
int main(void) {
    if (fork() == 0) { prepare(); CHECK(go(1) == 0 && go(2) == 0); _exit(0); }
    wait(0);
    return 0;
}
"""


def test_a_child_has_launches_of_its_own(bench: Bench) -> None:
    _, reached = narrowed(bench, FORKED, CUVET_NARROW="2")
    assert reached == ["cuLaunchKernel", *WAIT, "cuLaunchKernel", *WAIT]


BLOCKED = """
static __thread int is_other;
static volatile int entered;
static void blocks(int number) { if (is_other) { entered = 1; for (;;) pause(); } }
static void *other(void *unused) { cuCtxSetCurrent(context); is_other = 1; go(9); return 0; }
int main(void) {
    pthread_t id;
    prepare();
    signal(SIGUSR1, blocks);
    CHECK(go(1) == 0);
    pthread_create(&id, 0, other, 0);
    while (!entered) sched_yield();
    CHECK(go(2) == 700);
    return 0;
}
"""


def test_what_another_thread_launches_meanwhile_is_a_candidate_too(bench: Bench) -> None:
    run, _ = narrowed(bench, BLOCKED, NULL_DRIVER_LOSE="2", NULL_DRIVER_SIGNAL="cuLaunchKernel=10")
    recording = run.trace.recording
    (failed,) = (call for call in run.trace.calls if call.awaited)
    rings = recording.launches[failed.thread, failed.number]
    found = [each for ring in rings for each in unwaited(ring, recording, NUMBERS.get).launches]
    assert sorted(launch.words[0].value or 0 for launch in found) == [2, 9]
    assert not any(line.startswith("verdict") for line in sticky(bench))


@pytest.mark.parametrize(("before", "left"), [("go(1);", [3]), ("stream = 0; go(1); stream = other;", [1, 3])])
def test_what_the_stream_had_before_is_no_candidate(bench: Bench, before: str, left: list[int]) -> None:
    """Of launches that were not waited for, since they came before the N-th."""
    run, _ = narrowed(
        bench,
        f"""handle other = stream; {before} CHECK(go(2) == 0 && go(3) == {LOST});
        uint32_t cuCtxSynchronize(void); cuCtxSynchronize();""",
        NULL_DRIVER_LOSE="3",
        CUVET_NARROW="2",
    )
    (failed,) = (call for call in run.trace.calls if call.awaited)
    (ring,) = run.trace.recording.launches[failed.thread, failed.number]
    found = unwaited(ring, run.trace.recording, NUMBERS.get).launches
    assert [launch.words[0].value for launch in found] == left


def test_the_verdict_is_the_launch_that_told_so(bench: Bench) -> None:
    narrowed(bench, f"CHECK(go(1) == 0 && go(2) == {LOST});", NULL_DRIVER_LOSE="2")
    assert sticky(bench)[1].startswith("verdict: kernel<<<1, 1>>> on stream#1 at ")


def test_the_graph_that_loses_the_context_is_the_verdict(bench: Bench) -> None:
    narrowed(
        bench,
        f"""handle graph, exec;
        CHECK(cuGraphCreate(&graph, 0) == 0 && cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
        CHECK(go(1) == 0 && cuGraphLaunch(exec, stream) == {LOST});""",
        NULL_DRIVER_LOSE="2",
    )
    assert sticky(bench)[1].startswith("verdict: a kernel of executable-graph#1 at ")
