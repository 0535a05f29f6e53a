"""Stacks of lifecycle calls are those that the process's own unwinder tells, whatever code they lead through, also where
the shim knows the way from the calls before."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.native.conftest import Bench
from tests.native.unwinding import PLUGIN, compile_program, equal_stacks, stacks, told
from tests.under_test import SHIM

from cuvet.recording.sites import Sites


def test_functions_without_frame_pointers(bench: Bench) -> None:
    seen = equal_stacks(
        bench,
        """
        APART static int inner(int n) { char room[40]; asm volatile("" :: "r"(room)); twice(); return n + 1; }
        APART static int outer(int n) { volatile char room[600]; room[n] = 1; return inner(n) + room[n]; }
        int main(void) { start(); for (int i = 0; i < 5; i++) if (outer(i) < 0) return 1; return 0; }""",
        "-fomit-frame-pointer",
    )
    assert len(seen) == 10 and len(seen[0]) >= 4


def test_two_callers_of_one_function_at_the_same_place(bench: Bench) -> None:
    """Only what lies further out on the stack tells which of them it was."""
    seen = equal_stacks(
        bench,
        """
        APART static void shared(void) { twice(); asm volatile(""); }
        APART static void between(void) { shared(); asm volatile(""); }
        APART static void first(void) { between(); asm volatile("nop"); }
        APART static void second(void) { between(); asm volatile("nop; nop"); }
        int main(void) {
            start();
            for (volatile int i = 0; i < 3; i++) { first(); second(); }
            return 0;
        }""",
    )
    assert len(set(seen)) == 4


def test_more_stacks_than_a_thread_remembers(bench: Bench) -> None:
    """The other way round the second time, so that what followed before is no help. All have the same stack pointer."""
    seen = equal_stacks(
        bench,
        """
        APART static void down(unsigned bits, int left);
        APART static void zero(unsigned bits, int left) { down(bits >> 1, left - 1); asm volatile("nop"); }
        APART static void one(unsigned bits, int left) { down(bits >> 1, left - 1); asm volatile("nop; nop"); }
        APART static void down(unsigned bits, int left) {
            if (!left) made();
            else if (bits & 1) one(bits, left);
            else zero(bits, left);
            asm volatile("");
        }
        int main(void) {
            start();
            for (unsigned i = 0; i < 2048; i++) down((i ^ -(i >> 10)) & 1023, 10);
            return 0;
        }""",
    )
    assert len(set(seen)) == 1024


def test_frames_that_differ_in_the_frame_pointer_only(bench: Bench) -> None:
    """One frame begins where it began before, and is larger by what the frame around it is smaller."""
    seen = equal_stacks(
        bench,
        """
        APART __attribute__((optimize("omit-frame-pointer"))) static void between(void) { twice(); asm volatile(""); }
        APART static void inner(int n) { char room[16 * n]; memset(room, 0, 16 * n); asm volatile("" :: "r"(room) : "memory"); between(); }
        APART static void outer(int n, int m) { char room[16 * n]; asm volatile("" :: "r"(room)); inner(m); }
        int main(void) {
            start();
            for (int i = 0; i < 10; i++) outer(10 - i, 2 + i);
            return 0;
        }""",
    )
    assert len(seen) == 20


def test_deep_recursion(bench: Bench) -> None:
    seen = equal_stacks(
        bench,
        """
        APART static int down(int n) { if (n % 7 == 0) made(); int found = n ? down(n - 1) : 0; if (n % 5 == 0) made(); return found + 1; }
        int main(void) { start(); return down(150) + down(40) != 192; }""",
    )
    assert max(map(len, seen)) == 63 and len(seen) > 60


def test_exceptions_in_flight(bench: Bench) -> None:
    seen = equal_stacks(
        bench,
        """
        struct Guard { int depth; ~Guard() { made(); } };
        APART static void throws(int depth) {
            Guard guard{depth};
            if (depth == 0) throw depth;
            throws(depth - 1);
            asm volatile("");
        }
        int main() {
            start();
            for (int i = 0; i < 3; i++)
                try { throws(5); } catch (int) { twice(); }
            return 0;
        }""",
        language="cpp",
    )
    assert len(seen) == 24


def test_functions_with_frames_of_no_fixed_size_and_aligned_ones(bench: Bench) -> None:
    seen = equal_stacks(
        bench,
        """
        #include <alloca.h>
        APART static void dynamic(int n) { char *room = alloca(n * 100 + 1); room[n] = 1; asm volatile("" :: "r"(room)); twice(); }
        APART static void aligned(int n) {
            __attribute__((aligned(128))) volatile char room[256];
            char more[n * 8 + 8];
            asm volatile("" :: "r"(room), "r"(more));
            dynamic(n);
        }
        __attribute__((force_align_arg_pointer, noinline)) static void realigned(int n) { aligned(n); asm volatile(""); }
        int main(void) { start(); for (int i = 0; i < 9; i++) { dynamic(i); aligned(9 - i); realigned(i % 4); } return 0; }""",
    )
    assert len(seen) == 54


def test_signal_handlers(bench: Bench) -> None:
    seen = equal_stacks(
        bench,
        """
        static void handler(int number) { twice(); }
        APART static void raises(int number) { raise(number); asm volatile(""); }
        int main(void) {
            static char memory[65536];
            stack_t other = {memory, 0, sizeof memory};
            struct sigaction action = {.sa_handler = handler}, elsewhere = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
            start();
            sigaltstack(&other, 0);
            sigaction(SIGUSR1, &action, 0);
            sigaction(SIGUSR2, &elsewhere, 0);
            for (int i = 0; i < 3; i++) { raises(SIGUSR1); twice(); raises(SIGUSR2); }
            return 0;
        }""",
    )
    assert len(seen) == 18


ASSEMBLY = """
    __attribute__((used)) void (*target)(void) = twice;
    void described(void), undescribed(void), moved(void);
    asm(".text\\n"
        "described: .cfi_startproc\\n push %rbx\\n .cfi_adjust_cfa_offset 8\\n .cfi_offset rbx, -16\\n call *target(%rip)\\n"
        " pop %rbx\\n .cfi_adjust_cfa_offset -8\\n ret\\n .cfi_endproc\\n"
        "moved: .cfi_startproc\\n push %r12\\n .cfi_adjust_cfa_offset 8\\n .cfi_offset r12, -16\\n mov %rsp, %r12\\n"
        " .cfi_def_cfa_register r12\\n sub $64, %rsp\\n call *target(%rip)\\n mov %r12, %rsp\\n .cfi_def_cfa_register rsp\\n pop %r12\\n"
        " .cfi_adjust_cfa_offset -8\\n ret\\n .cfi_endproc\\n"
        "undescribed: sub $8, %rsp\\n call *target(%rip)\\n add $8, %rsp\\n ret\\n");
"""


def test_assembly_with_and_without_unwind_information(bench: Bench) -> None:
    seen = equal_stacks(
        bench,
        ASSEMBLY
        + "int main(void) { start(); for (int i = 0; i < 3; i++) { described(); moved(); undescribed(); } return 0; }",
        "-no-pie",
    )
    assert len(seen) == 18 and len(seen[4]) == 2 < len(seen[2])


def test_coroutines(bench: Bench) -> None:
    seen = equal_stacks(
        bench,
        """
        #include <ucontext.h>
        static ucontext_t loop, routines[3];
        static char memory[3][65536];
        APART static void turn(int me) { twice(); swapcontext(&routines[me], &loop); twice(); }
        static void routine(int me) { for (int i = 0; i < 4; i++) { turn(me); made(); } }
        int main(void) {
            start();
            for (int i = 0; i < 3; i++) {
                getcontext(&routines[i]);
                routines[i].uc_stack.ss_sp = memory[i];
                routines[i].uc_stack.ss_size = sizeof memory[i];
                routines[i].uc_link = &loop;
                makecontext(&routines[i], (void (*)(void))routine, 1, i);
            }
            for (int turns = 0; turns < 5; turns++)
                for (int i = 0; i < 3; i++) { swapcontext(&loop, &routines[i]); made(); }
            return 0;
        }""",
    )
    assert len(seen) == 3 * (4 * 5 + 5)


GENERATED = r"""
    void __register_frame(void *), __deregister_frame(void *);
    /* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xE5, 0xFF, 0xD7, 0x5D, 0xC3};
    static const unsigned char common[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0C, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0};
    static const unsigned char head[] = {36, 0, 0, 0, 28, 0, 0, 0}, rows[] = {0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6};
    static unsigned char frames[128] __attribute__((aligned(8)));
    static void (*generate(void))(void (*)(void)) {
        unsigned char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t bounds[2] = {(uint64_t)memory, sizeof code};
        memcpy(memory, code, sizeof code);
        memcpy(frames, common, sizeof common);
        memcpy(frames + 24, head, 8);
        memcpy(frames + 32, bounds, 16);
        memcpy(frames + 48, rows, 8);
        return (void (*)(void (*)(void)))memory;
    }
"""


def test_generated_code_that_is_registered_and_then_not(bench: Bench) -> None:
    run = bench.run(
        [
            str(
                compile_program(
                    bench,
                    GENERATED
                    + """
        int main(void) {
            void (*generated)(void (*)(void)) = generate();
            start();
            generated(twice);
            __register_frame(frames);
            for (int i = 0; i < 2; i++) generated(twice);
            __deregister_frame(frames);
            generated(twice);
            return 0;
        }""",
                )
            )
        ]
    )
    assert run.returncode == 0, run.stderr
    expected, recorded = told(run.stdout), stacks(run.trace)
    assert recorded[2:6] == expected[2:6] and len(expected[2]) > len(expected[0]) == 2
    # What is not registered is left by its frame pointers, which the unwinder does not do.
    assert [stack[:2] for stack in recorded] == [stack[:2] for stack in expected]
    assert [len(stack) for stack in recorded[:2]] == [3, 3]


def test_threads_and_forked_children(bench: Bench) -> None:
    source = """
        APART static int down(int n) { made(); return n ? down(n - 1) + 1 : 0; }
        static void *work(void *unused) { for (int i = 0; i < 20; i++) down(i); return 0; }
        int main(void) {
            pthread_t threads[4];
            start();
            down(3);
            for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
            pid_t child = fork();
            down(5);
            if (child) waitpid(child, 0, 0);
            return 0;
        }"""
    run = bench.run([str(compile_program(bench, source))])
    assert run.returncode == 0, run.stderr
    recorded = [stack for trace in run.traces for stack in stacks(trace)]
    assert sorted(recorded) == sorted(told(run.stdout)) and len(recorded) == 4 + 4 * 210 + 12


def test_libraries_that_follow_one_another_in_one_place(bench: Bench) -> None:
    """The two differ in the size of one frame only: their return addresses are the same, and lead to other places."""
    for name, size in (("one", 0x808), ("other", 0x1008)):
        (bench.folder / f"{name}.c").write_text(PLUGIN % (size, size, size, size))
        library = str(bench.folder / f"lib{name}.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(bench.folder / f"{name}.c")], check=True)
    program = compile_program(
        bench,
        """
        int main(int count, char **arguments) {
            start();
            for (int i = 0; i < 500; i++) {
                void *library = dlopen(arguments[1 + i % 2], RTLD_NOW);
                CHECK(library);
                ((void (*)(void (*)(void)))dlsym(library, "through"))(twice);
                CHECK(dlclose(library) == 0);
            }
            return 0;
        }""",
    )
    run = bench.run([str(program), *(str(bench.folder / f"lib{name}.so") for name in ("one", "other"))])
    assert run.returncode == 0, run.stderr
    assert stacks(run.trace) == told(run.stdout)
    assert len({stack[1] for stack in stacks(run.trace)}) == 1, "the libraries were not in one place"
    sites, calls = Sites(run.trace.recording), run.trace.named("cuEventCreate")
    modules = [[frame.module for frame in sites.of_stack(call.stack)[1]][2] for call in calls[:20]]
    assert [Path(module or "").name for module in modules] == 5 * (2 * ["libone.so"] + 2 * ["libother.so"])


def test_a_known_way_is_walked_without_the_unwinder(bench: Bench) -> None:
    """A libgcc_s counts what it is asked and passes it on."""
    compiler = ["cc", "-print-file-name=libgcc_s.so.1"]
    real = Path(subprocess.run(compiler, capture_output=True, text=True, check=True).stdout.strip()).resolve()
    (bench.folder / "counting.c").write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        static int walks, searches;
        static void *real(const char *name) { return dlsym(dlopen(REAL, RTLD_NOW), name); }
        int _Unwind_Backtrace(void *visit, void *argument) {
            walks++;
            return ((int (*)(void *, void *))real("_Unwind_Backtrace"))(visit, argument);
        }
        const void *_Unwind_Find_FDE(void *address, void *bases) {
            searches++;
            return ((const void *(*)(void *, void *))real("_Unwind_Find_FDE"))(address, bases);
        }
        unsigned long _Unwind_GetIP(void *frame) { return ((unsigned long (*)(void *))real("_Unwind_GetIP"))(frame); }
        unsigned long _Unwind_GetGR(void *frame, int number) {
            return ((unsigned long (*)(void *, int))real("_Unwind_GetGR"))(frame, number);
        }
        __attribute__((destructor)) static void end(void) { printf("%d %d\\n", walks, searches); }""")
    library = str(bench.folder / "libgcc_s.so.1")
    flags = ["-O2", "-shared", "-fPIC", f'-DREAL="{real}"']
    subprocess.run(["cc", *flags, "-o", library, str(bench.folder / "counting.c")], check=True)

    def asked(pairs: int) -> list[int]:
        run = bench.run(
            """
            static int pair(int deep) {
                handle event;
                if (deep) return pair(deep - 1);
                return cuEventCreate(&event, 0) || cuEventDestroy_v2(event);
            }
            int main(int count, char **arguments) {
                start();
                for (int i = 0; i < PAIRS; i++) CHECK(pair(i % 30) == 0);
                return 0;
            }""".replace("PAIRS", str(pairs)),
            LD_LIBRARY_PATH=f"{bench.folder}:{SHIM.parent}",
        )
        assert run.returncode == 0, run.stderr
        return [int(word) for word in run.stdout.split()]

    (walks, searches), later = asked(60), asked(2000)
    assert walks == 0 and 0 < searches < 40
    assert later == [walks, searches]


KILLS = int(os.environ.get("CUVET_TEST_KILLS", "5"))
"""``CUVET_TEST_KILLS=200`` for the full measure."""


def test_killed_while_objects_come_and_go(bench: Bench) -> None:
    """The recording can be read up to the end, and its stacks are right."""
    program = bench.compile(
        """
        static volatile long pairs;
        int down(int n) {
            handle event;
            if (n) return down(n - 1) + 1;
            CHECK(cuEventCreate(&event, 0) == 0);
            CHECK(cuEventDestroy_v2(event) == 0);
            return 0;
        }
        void *work(void *first) {
            for (int i = (long)first;; i++) {
                down(i * 7 % 40);
                __atomic_fetch_add(&pairs, 1, __ATOMIC_RELAXED);
            }
        }
        int main(int count, char **arguments) {
            pthread_t thread;
            start();
            for (long i = 0; i < 3; i++) CHECK(pthread_create(&thread, 0, work, (void *)i) == 0);
            while (pairs < atoi(arguments[1])) sched_yield();
            kill(getpid(), SIGKILL);
        }"""
    )
    for kills in range(KILLS):
        done = subprocess.run([program, str(kills * 97)], env=bench.environment(), timeout=60, check=False)
        assert done.returncode == -signal.SIGKILL
        (trace,) = bench.traces()
        recording, sites = trace.recording, Sites(trace.recording)
        calls = [call for call in trace.calls if trace.name(call) in ("cuEventCreate", "cuEventDestroy")]
        assert not recording.problems and len(calls) >= kills * 97
        for stack in {call.stack for call in calls}:
            functions = [frame.function for frame in sites.of_stack(stack)[1]]
            depth = functions.count("down")
            assert depth and functions[: depth + 1] == depth * ["down"] + (["work"] if depth < 32 else [])
        trace.path.unlink()
