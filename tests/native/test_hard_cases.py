"""What programs do wrong or oddly, and what the shim must not make worse."""

from __future__ import annotations

import signal
import subprocess

from tests.native.conftest import SHIM, Bench

# What the driver must be asked, and what it may refuse, with pointers that lead nowhere.
WILD = """
    static handle wild = 0x123456789000;
    static char *edge;  // of a page that can be read
    static void prepare(void) {
        edge = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        edge += 4096;
        CHECK(munmap(edge, 4096) == 0);
    }
"""


def test_wild_pointers_reach_the_driver(bench: Bench) -> None:
    """The driver may refuse a call before it reads structs, arrays, kernel arguments: the shim must not read them for it."""
    run = bench.run(
        """
        #include <sys/mman.h>
        uint32_t cuMemcpy2DAsync_v2(handle copy, handle stream);
        uint32_t cuMemcpy3D_v2(handle copy);
        uint32_t cuLaunchKernelEx(handle config, handle function, void **arguments, void **extra);
        uint32_t cuGraphAddKernelNode_v2(handle *node, handle graph, handle from, size_t count, handle parameters);
        """
        + WILD
        + """
        int main(void) {
            handle memory, module, function, graph = 0, node;
            start();
            prepare();
            handle stream;
            cuStreamCreate(&stream, 0);
            cuMemAllocAsync(&memory, 64, stream);
            cuModuleLoadData(&module, "image");
            cuModuleGetFunction(&function, module, "kernel");
            const handle pointers[] = {wild, 16, 0xffff800000000000, (handle)edge - 4, ~0ul - 3};
            for (int i = 0; i < 5; i++) {
                const handle at = pointers[i];
                void *one[] = {&memory, (void *)at, (void *)at}, *extra[] = {(void *)1, (void *)at, (void *)0};
                cuMemcpy2DAsync_v2(at, stream);
                cuMemcpy3D_v2(at);
                cuLaunchKernelEx(at, function, 0, 0);
                cuGraphAddKernelNode_v2(&node, graph, at, 1ul << 40, at);
                cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, (void **)at, 0);
                cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, one, 0);
                cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, (void **)at);
                cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, extra);
                cuMemcpyAsync(at, at, 8, stream);
            }
            return 7;
        }""",
        NULL_DRIVER_FAIL="cuGraphAddKernelNode_v2=1,cuMemcpy2DAsync_v2=1",
        CUVET_RECORD="full",
    )
    assert run.returncode == 7, (run.returncode, run.stderr)
    assert [call.status for call in run.trace.named("cuGraphAddKernelNode")] == [1] * 5
    assert len(run.trace.named("cuLaunchKernel")) == 20
    assert not run.trace.recording.problems


def test_the_emulated_driver_refuses_null_in_get_proc_address(bench: Bench) -> None:
    run = bench.run(
        """int main(void) {
            void *function;
            CHECK(cuGetProcAddress_v2(0, &function, 13000, 0, 0) == 1);
            CHECK(cuGetProcAddress_v2("cuInit", 0, 13000, 0, 0) == 1);
            return 0;
        }""",
        CUVET_DEVICE_SOCKET=str(bench.folder / "nobody"),
    )
    assert run.returncode == 0, run.stderr


def test_a_small_stack_is_enough(bench: Bench) -> None:
    """Stores, failures, stacks and modules take less than 16 KiB of the caller's stack."""
    run = bench.run(
        """
        #include <sys/mman.h>
        enum { BYTES = 65536 };
        static void *work(void *unused) {
            handle s, m;
            char name[4096] = {0};
            CHECK(cuStreamCreate(&s, 1) == 0);
            CHECK(cuModuleLoadData(&m, name) == 209);
            CHECK(cuMemHostRegister_v2(name, 100, 0) == 712);
            CHECK(cuStreamDestroy_v2(s) == 0);
            return name;
        }
        int main(void) {
            pthread_attr_t attributes;
            pthread_t thread;
            unsigned char *stack = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            int untouched = 0;
            start();
            CHECK(dlopen("libm.so.6", RTLD_NOW) && dlsym(RTLD_DEFAULT, "cuInit"));
            memset(stack, 0xA5, BYTES);
            pthread_attr_init(&attributes);
            CHECK(pthread_attr_setstack(&attributes, stack, BYTES) == 0);
            CHECK(pthread_create(&thread, &attributes, work, 0) == 0);
            pthread_join(thread, 0);
            while (untouched < BYTES && stack[untouched] == 0xA5) untouched++;
            printf("%d\\n", BYTES - untouched - 4096);
            return 0;
        }""",
        options=(str(SHIM), "-D_GNU_SOURCE"),
        NULL_DRIVER_FAIL="cuModuleLoadData=209,cuMemHostRegister_v2=712",
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 16384
    assert run.trace.recording.stacks[run.trace.one("cuModuleLoadData").stack].native


def test_first_calls_do_not_wait_for_the_loader_with_a_lock(bench: Bench) -> None:
    """One thread makes its first call in a library's constructor, while the loader's lock is held; another makes its own."""
    library = bench.folder / "libconstructor.so"
    (bench.folder / "constructor.c").write_text(
        """#include <pthread.h>
        #include <stdint.h>
        extern uint32_t cuInit(uint32_t);
        static void *work(void *unused) { cuInit(0); return 0; }
        extern pthread_barrier_t loading;
        __attribute__((constructor)) static void load(void) {
            pthread_barrier_wait(&loading);
            for (int i = 0; i < 100; i++) cuInit(0);
        }"""
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(bench.folder / "constructor.c")], check=True)
    program = bench.compile(
        f"""pthread_barrier_t loading;
        static void *work(void *unused) {{ pthread_barrier_wait(&loading); cuInit(0); return 0; }}
        int main(void) {{
            pthread_t thread;
            pthread_barrier_init(&loading, 0, 2);
            pthread_create(&thread, 0, work, 0);
            CHECK(dlopen("{library}", RTLD_NOW));
            pthread_join(thread, 0);
            return 0;
        }}""",
        str(SHIM),
        "-rdynamic",
    )
    for _ in range(20):
        assert bench.run([str(program)]).returncode == 0


def test_a_thread_that_is_cancelled_leaves_no_lock_behind(bench: Bench) -> None:
    """The first call of the process opens files; a pending cancellation must wait for its end."""
    run = bench.run("""
        static void *first(void *unused) {
            pthread_cancel(pthread_self());
            cuInit(0);
            pthread_testcancel();
            return 0;
        }
        int main(void) {
            pthread_t thread;
            void *result;
            pthread_create(&thread, 0, first, 0);
            pthread_join(thread, &result);
            CHECK(result == PTHREAD_CANCELED);
            alarm(20);
            start();
            return 0;
        }""")
    assert run.returncode == 0, run.stderr
    assert [call.status for call in run.trace.named("cuInit")] == [0, 0]


def test_the_size_limit_holds_when_threads_meet_it_together(bench: Bench) -> None:
    run = bench.run(
        """
        #include <sys/resource.h>
        static void *work(void *unused) {
            handle s;
            for (int i = 0; i < 12000; i++) { cuStreamCreate(&s, 1); cuStreamDestroy_v2(s); }
            return 0;
        }
        int main(void) {
            pthread_t threads[8];
            struct rlimit most = {4096 + 40 * 65536, RLIM_INFINITY};
            setrlimit(RLIMIT_FSIZE, &most);  // SIGXFSZ ends who writes past it
            start();
            for (int i = 0; i < 8; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
            return 0;
        }"""
    )
    assert run.returncode == 0, run.stderr
    assert int(run.trace.header["dropped"]) > 0 and run.trace.path.stat().st_size == 4096 + 40 * 65536
    assert not run.trace.recording.problems


def test_a_callback_that_forks_leaves_the_parents_recording_alone(bench: Bench) -> None:
    """The child returns into calls that the parent made; their records are in a file that both have mapped."""
    run = bench.run(
        """
        static void fork_here(int signal) { if (fork() == 0) return; wait(0); }
        int main(void) {
            handle s;
            pid_t parent = getpid();
            signal(SIGUSR1, fork_here);
            start();
            cuStreamCreate(&s, 1);
            cuStreamSynchronize(s);  // the child comes back from here first
            if (getpid() != parent) _exit(0);
            return 0;
        }""",
        NULL_DRIVER_SIGNAL="cuStreamSynchronize=10",
        CUVET_RECORD="full",
    )
    assert run.returncode == 0, run.stderr
    assert run.trace.one("cuStreamSynchronize").status == 0
    assert not run.trace.recording.problems


def test_a_fault_on_a_destroyed_stack_is_recorded(bench: Bench) -> None:
    """Unwinding may fault in its turn: the fault itself is stored before."""
    run = bench.run("""
        int main(void) {
            start();
            stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
            sigaltstack(&other, 0);
            __asm__ volatile("mov $0x10, %rsp; mov $0x10, %rbp; push %rax");
            return 0;
        }""")
    assert run.returncode == -signal.SIGSEGV
    assert [fault.signal for fault in run.trace.recording.faults] == [signal.SIGSEGV]
