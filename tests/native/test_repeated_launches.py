"""Launches that differ in a few words from earlier ones are stored in few bytes, and read as if each were stored in full."""

from __future__ import annotations

import signal
import struct

import pytest
from tests.native.conftest import Bench, Seen
from tests.native.test_repeated_calls import types

from cuvet.recording import layout
from cuvet.recording.layout import RecordType
from cuvet.recording.records import CallRecord

ACCESSES = {"CUVET_RECORD": "accesses"}
PROGRAM = """
static handle module, kernels[3], stream;
static uint64_t state = 1;
static uint64_t drawn(uint64_t below) { state = state * 6364136223846793005u + 1442695040888963407u; return (state >> 33) %% below; }
static uint32_t launch(handle kernel, uint64_t first, int second, uint64_t third, int grid) {
    void *arguments[] = {&first, &second, &third};
    return cuLaunchKernel(kernel, grid, 1, 1, 32, 1, 1, 0, stream, arguments, 0);
}
static void prepare(void) {
    start();
    cuStreamCreate(&stream, 0);
    cuModuleLoadData(&module, "image");
    for (int i = 0; i < 3; i++) cuModuleGetFunction(&kernels[i], module, "kernel");
}
%s
"""


def given(call: CallRecord) -> tuple[int, int, int]:
    """The null driver's kernels have parameters of 8, 4 and 8 bytes."""
    (data,) = call.inputs.values()
    first, second, third = struct.unpack_from("<Qi4xQ", data, 16)
    return first, second, third


def launches(trace: Seen) -> list[CallRecord]:
    assert not trace.recording.problems
    return sorted(trace.named("cuLaunchKernel"), key=lambda call: call.number)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_launches_are_read_as_they_were(bench: Bench, seed: int) -> None:
    body = """
    int main(void) {
        prepare();
        state = SEED;
        for (int i = 0; i < 4000; i++) {
            uint64_t kernel = drawn(3), first = drawn(4) ? 7 : drawn(1 << 30), third = drawn(9);
            int second = drawn(2) ? i : -5, grid = 1 + drawn(2);
            CHECK(launch(kernels[kernel], first, second, third, grid) == 0);
            printf("%lx %lx %d %lx %d\\n", kernels[kernel], first, second, third, grid);
        }
        return 0;
    }
    """.replace("SEED", str(seed))
    run = bench.run(PROGRAM.replace("%s", body).replace("%%", "%"), **ACCESSES)
    assert run.returncode == 0, run.stderr
    found = types(run.trace)
    assert found[RecordType.CALL_LIKE] > 3800
    calls, before = launches(run.trace), 0
    told = [line.split() for line in run.stdout.splitlines()]
    for call, (kernel, first, second, third, grid) in zip(calls, told, strict=True):
        assert given(call) == (int(first, 16), int(second), int(third, 16))
        assert call.args[:2] == (int(kernel, 16), int(grid))
        assert call.objects[0].handle == call.args[0] and call.objects[0].alive
        assert call.status == 0 and not call.flags & layout.CallFlag.EXAMPLE
        assert before < call.entered < call.returned
        before = call.returned
    assert [call.number for call in calls] == list(range(calls[0].number, calls[0].number + 4000))


def test_a_step_that_repeats_has_as_many_examples_as_it_has_launches(bench: Bench) -> None:
    """Of one kernel, in which more words differ than are told."""
    body = """
    static void *step(void *unused) {
        cuCtxSetCurrent(context);
        for (uint64_t i = 0; i < 60; i++) launch(kernels[0], i + 1, i + 1, i + 1, i * 3 + 1);
        return 0;
    }
    int main(void) {
        pthread_t thread;
        prepare();
        for (int turn = 0; turn < 200; turn++) {
            CHECK(pthread_create(&thread, 0, step, 0) == 0);
            pthread_join(thread, 0);
        }
        return 0;
    }
    """
    run = bench.run(PROGRAM.replace("%s", body).replace("%%", "%"), **ACCESSES)
    assert run.returncode == 0, run.stderr
    assert len(launches(run.trace)) == 200 * 60
    assert {given(call)[0] for call in launches(run.trace)} == set(range(1, 61))
    found = types(run.trace)
    assert found[RecordType.CALL] < 1000
    assert 60 <= len(list(run.trace.recording.examples)) < 500


def test_a_launch_that_fails_after_others_is_told_in_full(bench: Bench) -> None:
    body = """
    int main(void) {
        prepare();
        char *statuses = strchr(getenv("NULL_DRIVER_FAIL"), '=') + 1;
        for (int i = 0; i < 100; i++) {
            if (i % 10 == 9) memcpy(statuses, "701", 3);
            launch(kernels[i % 2], 1, i, 3, 1 + i % 3);
            memcpy(statuses, "000", 3);
        }
        return 0;
    }
    """
    run = bench.run(PROGRAM.replace("%s", body).replace("%%", "%"), NULL_DRIVER_FAIL="cuLaunchKernel=000", **ACCESSES)
    assert run.returncode == 0, run.stderr
    calls = launches(run.trace)
    assert [given(call) for call in calls] == [(1, i, 3) for i in range(100)]
    assert [call.args[1] for call in calls] == [1 + i % 3 for i in range(100)]
    assert [call.status for call in calls] == [701 if i % 10 == 9 else 0 for i in range(100)]
    assert all(bool(call.flags & layout.CallFlag.FAILED) == (call.status != 0) for call in calls)
    assert types(run.trace)[RecordType.CALL_LIKE] > 90


def test_killed_within_any_of_them(bench: Bench) -> None:
    body = """
    static volatile long made;
    static void *work(void *unused) {
        cuCtxSetCurrent(context);
        for (int i = 0;; i++) { launch(kernels[i % 3], i % 7, i, 3, 1); __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED); }
    }
    int main(int count, char **arguments) {
        pthread_t thread;
        prepare();
        for (int i = 0; i < 2; i++) CHECK(pthread_create(&thread, 0, work, 0) == 0);
        while (made < atoi(arguments[1])) sched_yield();
        kill(getpid(), SIGKILL);
    }
    """
    program = bench.compile(PROGRAM.replace("%s", body).replace("%%", "%"))
    for kills in range(5):
        done = bench.run([str(program), str(200 + kills * 1331)], **ACCESSES)
        assert done.returncode == -signal.SIGKILL
        assert not done.trace.recording.problems
        for thread in {call.thread for call in done.trace.named("cuLaunchKernel")}:
            calls = [call for call in launches(done.trace) if call.thread == thread]
            assert [given(call) for call in calls] == [(i % 7, i, 3) for i in range(len(calls))]
            assert None not in [call.status for call in calls[:-1]]
        done.trace.path.unlink()


def test_the_oldest_examples_are_forgotten(bench: Bench) -> None:
    """Launches that are like none, more than are remembered; then the newest of them again, and the oldest."""
    body = """
    static void unlike(uint64_t i) {
        uint64_t first = i + 100, third = i * i;
        int second = -i;
        void *arguments[] = {&first, &second, &third};
        cuLaunchKernel(kernels[0], i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, stream, arguments, 0);
    }
    int main(void) {
        prepare();
        for (uint64_t i = 0; i < 3000; i++) unlike(i);
        for (int turn = 0; turn < 2; turn++)
            for (uint64_t i = 2000; i < 2900; i++) unlike(i);
        for (uint64_t i = 0; i < 100; i++) unlike(i);
        return 0;
    }
    """
    run = bench.run(PROGRAM.replace("%s", body).replace("%%", "%"), **ACCESSES)
    assert run.returncode == 0, run.stderr
    numbers = [*range(3000), *range(2000, 2900), *range(2000, 2900), *range(100)]
    calls = launches(run.trace)
    assert [given(call) for call in calls] == [(i + 100, -i, i * i) for i in numbers]
    assert [call.args[1:8] for call in calls] == [tuple(range(i + 1, i + 8)) for i in numbers]
    found = types(run.trace)
    assert 1500 < found[RecordType.CALL_LIKE] <= 1800
