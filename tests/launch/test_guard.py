"""Programs under ``cuvet run --guard``: the host's touch of memory that work in flight uses is told, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.under_test import SHIM

from cuvet.findings import Report

NATIVE_TESTS = Path(__file__).parent.parent / "native"
START = """
    #include "client.h"
    uint32_t cuMemHostAlloc(void *memory, size_t bytes, uint32_t flags);
    uint32_t cuMemFreeHost(void *memory);
    uint32_t cuMemcpyDtoHAsync_v2(void *to, handle from, size_t bytes, handle stream);
    uint32_t cuMemcpyHtoDAsync_v2(handle to, void *from, size_t bytes, handle stream);
    uint32_t cuEventSynchronize(handle event);
    static handle stream, device;
    static volatile int *pinned;
    static void prepare(void) {
        start();
        CHECK(cuStreamCreate(&stream, 1) == 0 && cuMemAlloc_v2(&device, 4096) == 0);
        CHECK(cuMemHostAlloc((void *)&pinned, 64, 0) == 0);
    }
    static void fetch(void) { CHECK(cuMemcpyDtoHAsync_v2((void *)pinned, device, 64, stream) == 0); }
"""


@dataclass
class Ran:
    returncode: int
    output: str
    report: Report

    @property
    def told(self) -> list[tuple[str, str | None]]:
        return [(each.name, each.host) for each in self.report.findings]


@pytest.fixture
def run(tmp_path: Path):  # type: ignore[no-untyped-def]
    def run(source: str, *options: str) -> Ran:
        code, program, report = tmp_path / "client.c", tmp_path / "client", tmp_path / "report.json"
        code.write_text(START + source)
        flags = ["-g", "-O0", "-w", "-pthread", "-D_GNU_SOURCE", f"-I{NATIVE_TESTS}"]
        subprocess.run(["cc", *flags, "-o", str(program), str(code), str(SHIM), "-ldl"], check=True)
        command = [sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--format", "json"]
        command += ["--output", str(report), "--trace", str(tmp_path / "trace"), *(options or ("--guard",))]
        done = subprocess.run([*command, "--", str(program)], capture_output=True, text=True, timeout=120, check=False)
        assert report.exists(), done.stderr
        return Ran(done.returncode, done.stdout, msgspec.json.decode(report.read_bytes(), type=Report))

    return run


def test_a_touch_that_is_too_early_is_told_at_its_line(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""int main(void) {
        prepare();
        fetch();
        int value = pinned[3];  // here
        cuStreamSynchronize(stream);
        printf("%d\\n", value);
        return 5;
    }""")
    assert (ran.returncode, ran.output) == (5, "0\n")
    (found,) = ran.report.findings
    assert (found.name, found.host, found.site.api) == ("race-with-host", "read", "main")
    (frame, *_) = found.site.frames
    assert frame.file and frame.line
    assert Path(frame.file).read_text().splitlines()[frame.line - 1].endswith("// here")
    assert [each.site.api for each in found.earlier] == ["cuMemcpyDtoHAsync"]


@pytest.mark.parametrize(
    "wait",
    [
        "cuStreamSynchronize(stream);",
        "while (cuStreamQuery(stream)) ;",
        "cuCtxSynchronize();",
        "cuEventCreate(&event, 2); cuEventRecord(event, stream); CHECK(cuEventSynchronize(event) == 0);",
        "cuEventCreate(&event, 2); cuEventRecord(event, stream); while (cuEventQuery(event)) ;",
    ],
)
def test_after_a_wait_nothing_is_told(run, wait: str) -> None:  # type: ignore[no-untyped-def]
    ran = run(f"""uint32_t cuCtxSynchronize(void);
    int main(void) {{
        handle event;
        prepare();
        for (int i = 0; i < 3; i++) {{
            fetch();
            {wait}
            printf("%d", pinned[i]);
            pinned[i] = i;
        }}
        return cuMemFreeHost((void *)pinned);
    }}""")
    assert (ran.returncode, ran.output, ran.told) == (0, "000", [])


def test_a_read_is_no_mistake_where_the_device_only_reads_and_the_write_after_it_is(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""int main(void) {
        prepare();
        CHECK(cuMemcpyHtoDAsync_v2(device, (void *)pinned, 64, stream) == 0);
        int value = pinned[0];
        pinned[0] = value + 1;
        cuStreamSynchronize(stream);
        return pinned[0];
    }""")
    assert (ran.returncode, ran.told) == (1, [("race-with-host", "wrote")])


def test_small_memory_next_to_it_is_not_meant(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""int main(void) {
        int *others[8];
        prepare();
        for (int i = 0; i < 8; i++) CHECK(cuMemHostAlloc((void *)&others[i], 64, 0) == 0);
        fetch();
        for (int i = 0; i < 8; i++) others[i][0] = i;
        cuStreamSynchronize(stream);
        return 0;
    }""")
    assert (ran.returncode, ran.told) == (0, [])


def test_of_large_memory_only_the_pages_that_a_call_names_are_guarded(run) -> None:  # type: ignore[no-untyped-def]
    """A touch beside them is none, and leaves them guarded."""
    ran = run("""int main(void) {
        int ends[2];
        char *large;
        prepare();
        CHECK(cuMemHostAlloc((void *)&large, 1 << 20, 0) == 0 && pipe(ends) == 0);
        for (int i = 0; i < 3; i++) {
            CHECK(cuMemcpyDtoHAsync_v2(large + 8192 + 100, device, 4000, stream) == 0);
            CHECK(cuMemcpyDtoHAsync_v2(large + 65536, device, 4096, stream) == 0);
            large[8191] = large[16384] = large[65535] = large[69632] = i;
            CHECK(write(ends[1], large, 8192) == 8192 && read(ends[0], large + 16384, 8192) == 8192);
            CHECK(write(ends[1], large + 12288, 1) == -1 && write(ends[1], large + 65536, 1) == -1);
            cuStreamSynchronize(stream);
            large[8192 + 100] = large[65536] = 0;
        }
        CHECK(cuMemcpyDtoHAsync_v2(large, device, 4096, stream) == 0);
        large[4096] = 1;
        int value = large[4095];
        cuStreamSynchronize(stream);
        return cuMemFreeHost(large) + value;
    }""")
    assert (ran.returncode, ran.told) == (0, [("race-with-host", "read")])


def test_what_a_copy_reads_can_be_read_by_system_calls_too(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""int main(void) {
        prepare();
        ((char *)pinned)[0] = 'x';
        CHECK(cuMemcpyHtoDAsync_v2(device, (void *)pinned, 64, stream) == 0);
        CHECK(cuMemcpyHtoDAsync_v2(device, (void *)pinned, 64, stream) == 0);
        CHECK(write(1, (void *)pinned, 1) == 1);
        CHECK(cuMemcpyDtoHAsync_v2((void *)pinned, device, 64, stream) == 0);
        CHECK(cuMemcpyHtoDAsync_v2(device, (void *)pinned, 64, stream) == 0);
        CHECK(write(1, (void *)pinned, 1) == -1);
        return cuStreamSynchronize(stream);
    }""")
    assert (ran.returncode, ran.output, ran.told) == (0, "x", [])


def test_what_the_emulated_device_touches_stays_guarded(run) -> None:  # type: ignore[no-untyped-def]
    """By a graph, whose launch does not name it: the device copies with the CPU. What is only captured is not guarded, and the capture
    goes on: the shim does not ask for the flags of a stream that captures."""
    ran = run("""
    uint32_t cuGraphInstantiateWithFlags(handle *executable, handle graph, uint64_t flags);
    uint32_t cuGraphLaunch(handle executable, handle stream);
    int main(void) {
        handle graph, executable;
        prepare();
        CHECK(cuStreamBeginCapture_v2(stream, 2) == 0);
        fetch();
        pinned[0] = 0;
        CHECK(cuStreamEndCapture(stream, &graph) == 0 && cuGraphInstantiateWithFlags(&executable, graph, 0) == 0);
        fetch();
        CHECK(cuGraphLaunch(executable, stream) == 0);
        return pinned[0];
    }""")
    assert (ran.returncode, ran.told) == (0, [("race-with-host", "read")])


def test_the_programs_own_handler_gets_its_own_faults(run) -> None:  # type: ignore[no-untyped-def]
    """And no others, whether it was set before the first call or after, by sigaction or by signal."""
    ran = run("""
    #include <setjmp.h>
    static sigjmp_buf back;
    static void *at;
    static void handle_it(int number, siginfo_t *info, void *context) { at = info->si_addr; siglongjmp(back, 1); }
    static void handle_plainly(int number) { siglongjmp(back, 2); }
    static void fault(int expected) {
        int came = sigsetjmp(back, 1);
        if (!came) *(volatile int *)24 = 1;
        CHECK(came == expected);
        fetch();
        printf("%d", pinned[0]);
        cuStreamSynchronize(stream);
    }
    int main(void) {
        struct sigaction action = {.sa_sigaction = handle_it, .sa_flags = SA_SIGINFO}, old;
        sigaction(SIGSEGV, &action, 0);
        prepare();
        fault(1);
        CHECK(at == (void *)24);
        CHECK(sigaction(SIGSEGV, &action, &old) == 0 && old.sa_sigaction == handle_it);
        fault(1);
        CHECK(signal(SIGSEGV, handle_plainly) == (void *)handle_it);
        fault(2);
        return 3;
    }""")
    assert (ran.returncode, ran.output) == (3, "000")
    assert [name for name, _ in ran.told] == ["race-with-host"] * 3, "once for each caller"


def test_it_still_dies_of_its_own_fault(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("int main(void) { prepare(); fetch(); *(volatile int *)24 = 1; return 0; }")
    assert ran.returncode == 128 + 11
    assert ran.report.program.signal == 11


def test_a_thread_that_blocks_all_signals_goes_on(run) -> None:  # type: ignore[no-untyped-def]
    """It never called CUDA, either."""
    ran = run("""
    static void *touch(void *unused) {
        sigset_t every;
        sigfillset(&every);
        CHECK(pthread_sigmask(SIG_SETMASK, &every, 0) == 0);
        return (void *)(long)(pinned[1] + 7);
    }
    int main(void) {
        pthread_t thread;
        void *result;
        prepare();
        fetch();
        pthread_create(&thread, 0, touch, 0);
        pthread_join(thread, &result);
        return (int)(long)result;
    }""")
    assert (ran.returncode, ran.told) == (7, [("race-with-host", "read")])


def test_a_forked_child_reaches_the_memory(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""int main(void) {
        int status;
        prepare();
        fetch();
        if (!fork()) _exit(pinned[2] + 9);
        wait(&status);
        cuStreamSynchronize(stream);
        return WEXITSTATUS(status);
    }""")
    assert (ran.returncode, ran.told) == (9, [])


def test_a_host_function_may_touch_what_came_before_it(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""
    uint32_t cuLaunchHostFunc(handle stream, void (*function)(void *), void *data);
    static volatile int sum;
    static void add(void *data) { sum = pinned[0] + 4; }
    int main(void) {
        prepare();
        fetch();
        CHECK(cuLaunchHostFunc(stream, add, 0) == 0);
        while (!sum) usleep(100);
        return pinned[1] + sum;
    }""")
    assert (ran.returncode, ran.told) == (4, [])


def test_a_touch_is_told_of_a_process_that_is_killed(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("int main(void) { prepare(); fetch(); int value = pinned[0]; kill(getpid(), SIGKILL); return value; }")
    assert (ran.returncode, ran.told) == (128 + 9, [("race-with-host", "read")])


def test_without_the_option_memory_is_not_guarded(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("int main(void) { prepare(); fetch(); return pinned[0]; }", "--races")
    assert (ran.returncode, ran.told) == (0, [])


def test_a_wait_for_the_default_stream_is_none_for_a_stream_that_stands_apart(run) -> None:  # type: ignore[no-untyped-def]
    """That the shim lifts a guard for it would be a miss: it asks which streams the default stream waits for."""
    ran = run("""int main(void) {
        handle blocking;
        prepare();
        CHECK(cuStreamCreate(&blocking, 0) == 0);
        CHECK(cuMemcpyDtoHAsync_v2((void *)pinned, device, 64, blocking) == 0);
        cuStreamSynchronize(0);
        printf("%d", pinned[0]);
        fetch();
        cuStreamSynchronize(0);
        printf("%d", pinned[0]);
        cuStreamSynchronize(stream);
        CHECK(cuMemcpyDtoHAsync_v2((void *)pinned, device, 64, 0) == 0);
        cuStreamSynchronize(stream);
        return pinned[0];
    }""")
    assert (ran.returncode, ran.output, ran.told) == (0, "00", [("race-with-host", "read")] * 2)


def test_memory_is_named_touched_and_waited_for_by_several_threads(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""
    enum { THREADS = 4, ROUNDS = 300 };
    static volatile int *shared[THREADS];
    static void *work(void *number) {
        handle own;
        long me = (long)number, sum = 0;
        CHECK(cuCtxSetCurrent(context) == 0 && cuStreamCreate(&own, 1) == 0);
        for (int i = 0; i < ROUNDS; i++) {
            volatile int *memory = shared[(me + i) % THREADS];
            CHECK(cuMemcpyDtoHAsync_v2((void *)memory, device, 4096, own) == 0);
            sum += memory[i];
            if (i % 7 == 0) cuStreamSynchronize(own);
            memory[i] = 0;
        }
        return (void *)sum;
    }
    int main(void) {
        pthread_t threads[THREADS];
        prepare();
        for (long i = 0; i < THREADS; i++) CHECK(cuMemHostAlloc((void *)&shared[i], 4096, 0) == 0);
        for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)i);
        for (long i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
        for (long i = 0; i < THREADS; i++) CHECK(cuMemFreeHost((void *)shared[i]) == 0);
        return 6;
    }""")
    assert ran.returncode == 6
    assert ("race-with-host", "read") in ran.told


def test_registered_memory_is_the_programs_again_when_it_is_unregistered(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""int main(void) {
        char *memory = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        prepare();
        CHECK(cuMemHostRegister_v2(memory, 16384, 0) == 0);
        for (int i = 0; i < 3; i++) {
            CHECK(cuMemcpyDtoHAsync_v2(memory, device, 4096, stream) == 0);
            if (i < 2) cuStreamSynchronize(stream);
            if (i < 2) memset(memory, i, 16384);
        }
        CHECK(cuMemHostUnregister(memory) == 0);
        CHECK(mprotect(memory, 4096, PROT_READ) == 0 && memory[0] == 0);
        return munmap(memory, 16384);
    }""")
    assert ran.returncode == 0
    assert ("race-with-host", "read") not in ran.told


def test_a_handler_that_is_set_past_the_c_library_ends_the_guarding(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""
    #include <sys/syscall.h>
    struct { void *handler; unsigned long flags; void *restorer; unsigned long mask; } standard;
    int main(void) {
        prepare();
        fetch();
        cuStreamSynchronize(stream);
        CHECK(syscall(SYS_rt_sigaction, SIGSEGV, &standard, 0, 8) == 0);
        fetch();
        return pinned[0];
    }""")
    assert (ran.returncode, ran.told) == (0, [])
    assert any("SIGSEGV" in each for each in ran.report.not_checked)


def test_a_program_that_fails_is_told_of_system_calls(run) -> None:  # type: ignore[no-untyped-def]
    """The kernel says EFAULT where the host's code would fault. After a wait it does not."""
    ran = run("""
    #include <errno.h>
    int main(void) {
        prepare();
        fetch();
        CHECK(write(1, (void *)pinned, 1) == -1 && errno == EFAULT);
        cuStreamSynchronize(stream);
        CHECK(write(1, (void *)pinned, 1) == 1);
        return 1;
    }""")
    assert (ran.returncode, ran.told) == (1, [])
    assert any("EFAULT" in hint for hint in ran.report.hints)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("return 1;", 1),  # nothing was guarded
        ("cuStreamSynchronize(stream); return 1;", 1),
        ("fetch(); kill(getpid(), SIGTERM); pause();", 128 + 15),  # somebody else ended it
        ("fetch(); return 0;", 0),
    ],
)
def test_others_are_told_nothing_of_system_calls(run, body: str, code: int) -> None:  # type: ignore[no-untyped-def]
    ran = run(f"int main(void) {{ prepare(); {body} }}")
    assert (ran.returncode, ran.told, ran.report.hints) == (code, [], ())


@pytest.mark.parametrize(("mode", "code", "told"), [("abort", 86, 0), ("refuse", 1, 1)])
def test_nor_are_those_that_protect_ended(run, mode: str, code: int, told: int) -> None:  # type: ignore[no-untyped-def]
    """One that went on failed by itself."""
    source = """int main(void) {
        prepare();
        fetch();
        CHECK(cuStreamSynchronize(stream) == 0 && cuStreamDestroy_v2(stream) == 0);
        return cuStreamSynchronize(stream) != 0;
    }"""
    ran = run(source, "--guard", f"--protect={mode}")
    assert (ran.returncode, ran.told, len(ran.report.hints)) == (code, [("stream-use-after-destroy", None)], told)


def test_memory_that_is_registered_for_reading_stays_as_it_is(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("""
    #include <errno.h>
    int main(void) {
        int ends[2];
        char *memory = mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        prepare();
        CHECK(cuMemHostRegister_v2(memory, 8192, 8) == 0);
        CHECK(cuMemcpyHtoDAsync_v2(device, memory, 4096, stream) == 0);
        cuStreamSynchronize(stream);
        CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
        CHECK(read(ends[0], memory, 1) == -1 && errno == EFAULT);
        return cuMemHostUnregister(memory);
    }""")
    assert (ran.returncode, ran.told) == (0, [])
