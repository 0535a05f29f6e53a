"""Stacks through code, and on stacks, that compilers and runtimes make: each is what the process's own unwinder tells, or
begins like it and ends earlier."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from tests.native.conftest import HERE, Bench
from tests.native.unwinding import PLUGIN, PRELUDE, compile_program, equal_stacks, stacks, told
from tests.under_test import SHIM

# ---- stacks


def test_hand_made_coroutines(bench: Bench) -> None:
    """Nothing leads out of these stacks: where one begins, there is a zero, garbage, or its maker's frame pointer."""
    seen = equal_stacks(
        bench,
        r"""
        typedef struct { void *stack_pointer; } routine;
        static routine loop, routines[3];
        void change(routine *from, routine *to);
        void begin(void);
        asm(".text\n"
            "change: .cfi_startproc\n push %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbp, 0\n"
            " push %rbx\n .cfi_adjust_cfa_offset 8\n push %r12\n .cfi_adjust_cfa_offset 8\n"
            " mov %rsp, (%rdi)\n mov (%rsi), %rsp\n pop %r12\n .cfi_adjust_cfa_offset -8\n pop %rbx\n .cfi_adjust_cfa_offset -8\n"
            " pop %rbp\n .cfi_adjust_cfa_offset -8\n .cfi_restore rbp\n ret\n .cfi_endproc\n"
            "begin: .cfi_startproc\n .cfi_undefined rip\n mov %r12, %rdi\n call *%rbx\n ud2\n .cfi_endproc\n");
        APART static void turn(long me) { twice(); change(&routines[me], &loop); twice(); asm volatile(""); }
        static void body(long me) { for (;;) { turn(me); made(); } }
        int main(void) {
            start();
            for (long i = 0; i < 3; i++) {
                uint64_t *top = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                top += 65536 / 8 - 2;
                top[0] = i == 1 ? 0xdeadbeef : 0;
                *--top = i ? (uint64_t)begin : (uint64_t)body;  /* the first is entered, not called */
                *--top = i == 2 ? (uint64_t)__builtin_frame_address(0) : 0;
                *--top = (uint64_t)body;
                *--top = i;
                routines[i].stack_pointer = top;
                if (i == 0) top[3] = (uint64_t)begin;
            }
            for (int turns = 0; turns < 4; turns++)
                for (int i = 0; i < 3; i++) { change(&loop, &routines[i]); made(); }
            return 0;
        }""",
    )
    assert len(seen) == 3 * (2 + 3 * 5 + 4)


def test_a_frame_that_leads_to_another_stack(bench: Bench) -> None:
    """As runtimes call foreign code: the stack below, or above, is the caller's."""
    seen = equal_stacks(
        bench,
        r"""
        void on(void *top, void (*function)(void));
        asm(".text\n"
            "on: .cfi_startproc\n push %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbp, 0\n mov %rsp, %rbp\n"
            " .cfi_def_cfa_register rbp\n mov %rdi, %rsp\n call *%rsi\n mov %rbp, %rsp\n .cfi_def_cfa_register rsp\n pop %rbp\n"
            " .cfi_adjust_cfa_offset -8\n .cfi_restore rbp\n ret\n .cfi_endproc\n");
        static char below[65536];
        static void *above;
        APART static void further(void) { twice(); on(below + 60000, twice); on(above, twice); asm volatile(""); }
        APART static void back(void) { on(above - 40000, further); asm volatile(""); }
        int main(void) {
            char room[65536];  /* of the stack itself: above its end */
            above = room + sizeof room;
            above = (void *)((uint64_t)above & ~63ul);
            start();
            for (int i = 0; i < 3; i++) { twice(); on(below + 40000, back); on(above - 20000, further); made(); }
            return 0;
        }""",
    )
    assert len(seen) == 3 * (2 + 6 + 6 + 1)


def test_coroutines_of_cxx(bench: Bench) -> None:
    seen = equal_stacks(
        bench,
        """
        #include <coroutine>
        struct Task {
            struct promise_type {
                Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
                std::suspend_always initial_suspend() noexcept { return {}; }
                std::suspend_always final_suspend() noexcept { return {}; }
                void return_void() {}
                void unhandled_exception() {}
            };
            std::coroutine_handle<promise_type> handle;
        };
        struct Guard { ~Guard() { made(); } };
        Task work(int turns) { Guard guard; for (int i = 0; i < turns; i++) { twice(); co_await std::suspend_always{}; made(); } }
        APART static void resume(Task &task) { task.handle.resume(); asm volatile(""); }
        int main() {
            start();
            Task tasks[] = {work(3), work(2), work(4)};
            for (int i = 0; i < 5; i++)
                for (Task &task : tasks) { if (!task.handle.done()) resume(task); made(); }
            for (Task &task : tasks) task.handle.destroy();
            return 0;
        }""",
        "-std=c++20",
        "-fcoroutines",
        language="cpp",
    )
    assert len(seen) == 9 * 3 + 3 + 15


def test_threads_on_memory_of_the_program(bench: Bench) -> None:
    """One thread after the other has the same stack, in mapped memory, and another path through the program."""
    seen = equal_stacks(
        bench,
        """
        enum { BYTES = 1 << 20 };
        APART static int down(int n) { if (n % 3 == 0) made(); return n ? down(n - 1) + 1 : 0; }
        APART static int across(int n) { made(); return down(n) + 1; }
        static void *work(void *turn) { return (void *)(long)((long)turn % 2 ? down((long)turn) : across((long)turn)); }
        int main(void) {
            void *memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            pthread_attr_t attributes;
            start();
            pthread_attr_init(&attributes);
            CHECK(pthread_attr_setstack(&attributes, memory, BYTES) == 0);
            for (long turn = 1; turn < 20; turn++) {
                pthread_t thread;
                CHECK(pthread_create(&thread, &attributes, work, (void *)turn) == 0);
                pthread_join(thread, 0);
            }
            return 0;
        }""",
        "-D_GNU_SOURCE",
    )
    assert len(seen) == sum(turn // 3 + 1 for turn in range(1, 20)) + 9


def test_threads_that_end_in_all_ways(bench: Bench) -> None:
    """The unwinder itself runs the cleanup of a thread that exits or is cancelled, from a frame in its middle."""
    seen = equal_stacks(
        bench,
        """
        struct Guard { ~Guard() { made(); } };
        static thread_local Guard *kept;
        struct Last { ~Last() { twice(); } };
        static thread_local Last last;
        APART static void leave(int how, int depth) {
            Guard guard;
            if (depth) { leave(how, depth - 1); asm volatile(""); return; }
            twice();
            if (how == 0) pthread_exit(nullptr);
            if (how == 1) { pthread_cancel(pthread_self()); pthread_testcancel(); }
        }
        static void *work(void *how) { asm volatile("" :: "r"(&last)); leave((int)(long)how, 3); return nullptr; }
        int main() {
            start();
            for (long i = 0; i < 9; i++) {
                pthread_t thread;
                pthread_create(&thread, nullptr, work, (void *)(i % 3));
                pthread_join(thread, nullptr);
            }
            return 0;
        }""",
        language="cpp",
    )
    assert len(seen) == 9 * (2 + 4 + 2)


def test_a_library_that_is_unmapped_unseen(bench: Bench) -> None:
    """By the loader's own function, which the shim does not stand in front of; each walk has something new. The rule that was known of the
    other library leads beyond the stack."""
    for name, size in (("one", 0x808), ("other", 0x40008)):
        (bench.folder / f"{name}.c").write_text(PLUGIN % (size, size, size, size))
        library = str(bench.folder / f"lib{name}.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(bench.folder / f"{name}.c")], check=True)
    program = compile_program(
        bench,
        """
        #define NEW(n) APART static void new_##n(void) { made(); asm volatile("nop"); }
        NEW(0) NEW(1) NEW(2) NEW(3) NEW(4) NEW(5) NEW(6) NEW(7)
        static void (*const news[])(void) = {new_0, new_1, new_2, new_3, new_4, new_5, new_6, new_7};
        int main(int count, char **arguments) {
            int (*unmap)(void *) = dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose");
            CHECK(unmap && unmap != dlclose);
            start();
            for (int i = 0; i < 8; i++) {
                void *library = dlopen(arguments[1 + i % 2], RTLD_NOW);
                ((void (*)(void (*)(void)))dlsym(library, "through"))(news[i]);
                CHECK(unmap(library) == 0);
            }
            return 0;
        }""",
    )
    run = bench.run([str(program), *(str(bench.folder / f"lib{name}.so") for name in ("one", "other"))])
    assert run.returncode == 0, run.stderr
    assert stacks(run.trace) == told(run.stdout)
    assert len({stack[1] for stack in stacks(run.trace)}) == 1, "the libraries were not in one place"


def test_libraries_and_threads_that_come_and_go_while_others_walk(bench: Bench) -> None:
    """What one thread learns of a return address, others use; what one unmaps, nobody believes any more."""
    for name, size in (("one", 0x808), ("other", 0x1008)):
        (bench.folder / f"{name}.c").write_text(PLUGIN % (size, size, size, size))
        library = str(bench.folder / f"lib{name}.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(bench.folder / f"{name}.c")], check=True)
    program = compile_program(
        bench,
        """
        static char **libraries;
        APART static int down(int n) { made(); return n ? down(n - 1) + 1 : 0; }
        static void *walk(void *first) { for (long i = 0; i < 20; i++) down((int)(i + (long)first) % 9); return 0; }
        static void *come_and_go(void *first) {
            for (long i = 0; i < 10; i++) {
                pthread_t thread;
                void *library = dlopen(libraries[1 + (i + (long)first) % 2], RTLD_NOW);
                CHECK(library);
                ((void (*)(void (*)(void)))dlsym(library, "through"))(twice);
                CHECK(dlclose(library) == 0);
                pthread_create(&thread, 0, walk, (void *)i);
                pthread_join(thread, 0);
            }
            return 0;
        }
        int main(int count, char **arguments) {
            pthread_t threads[6];
            libraries = arguments;
            start();
            for (long i = 0; i < 6; i++) pthread_create(&threads[i], 0, i < 4 ? walk : come_and_go, (void *)i);
            for (int i = 0; i < 6; i++) pthread_join(threads[i], 0);
            return 0;
        }""",
    )
    run = bench.run([str(program), *(str(bench.folder / f"lib{name}.so") for name in ("one", "other"))])
    assert run.returncode == 0, run.stderr
    recorded, expected = stacks(run.trace), told(run.stdout)
    assert sorted(recorded) == sorted(expected) and len(recorded) > 2 * 10 * 2 + 24 * 20


def test_what_an_earlier_frame_left_where_one_is_larger_now(bench: Bench) -> None:
    """All inner frames are where they were, and so are the words of the outer ones; only the frame pointer leads elsewhere."""
    seen = equal_stacks(
        bench,
        """
        APART __attribute__((optimize("omit-frame-pointer"))) static void between(void) { made(); asm volatile(""); }
        APART static void inner(int n) { char room[64 * n]; asm volatile("" :: "r"(room) : "memory"); between(); asm volatile(""); }
        #define OUTER(name) \\
            APART static void name(int n, int m) { char room[64 * n]; asm volatile("" :: "r"(room)); inner(m); asm volatile(""); }
        OUTER(one) OUTER(other)
        int main(void) {
            start();
            for (int i = 0; i < 12; i++) (i % 2 ? other : one)(20 - i, 2 + i);
            return 0;
        }""",
    )
    assert len(seen) == 12 and len(set(seen)) == 2


def test_jumps_out_of_frames(bench: Bench) -> None:
    """longjmp leaves frames that the last walk has seen; others take their place."""
    seen = equal_stacks(
        bench,
        """
        #include <setjmp.h>
        static jmp_buf back;
        APART static void leave(int n) { char room[64 * n + 8]; asm volatile("" :: "r"(room)); twice(); longjmp(back, n + 1); }
        APART static void other(int n) { char room[48 * n + 8]; asm volatile("" :: "r"(room)); twice(); asm volatile(""); }
        int main(void) {
            volatile int n = 0;
            start();
            setjmp(back);
            other(n);
            if (n++ < 6) leave(n % 3);
            return 0;
        }""",
    )
    assert len(seen) == 2 * (7 + 6)


def test_the_innermost_frames_of_100000(bench: Bench) -> None:
    run = bench.run(
        [
            str(
                compile_program(
                    bench,
                    """
        APART static int down(int n) { if (n % 1000 == 0) made(); return n ? down(n - 1) + 1 : 0; }
        static void *work(void *unused) { return (void *)(long)down(100000); }
        int main(void) {
            pthread_attr_t attributes;
            pthread_t thread;
            void *depth;
            start();
            pthread_attr_init(&attributes);
            pthread_attr_setstacksize(&attributes, 64 << 20);
            pthread_create(&thread, &attributes, work, 0);
            pthread_join(thread, &depth);
            return depth != (void *)100000;
        }""",
                )
            )
        ]
    )
    assert run.returncode == 0, run.stderr
    recorded, expected = stacks(run.trace), told(run.stdout)
    assert recorded == expected and len(recorded) == 101
    assert [len(stack) for stack in recorded[1:]] == 100 * [63]
    assert len(set(recorded[1:])) == 1


# ---- code

WAYS = r"""
    #include <setjmp.h>
    static int compare(const void *a, const void *b) { if (*(char *)a == 'a') made(); return *(char *)a - *(char *)b; }
    static void once(void) { twice(); }
    APART static double crowded(int n, double a, double b) {
        long i = n, j = n * 3, k = n ^ 5, l = n << 2, m = ~n, o = n + 77, p = n * n;
        for (int turn = 0; turn < 3; turn++) {
            asm volatile("" : "+r"(i), "+r"(j), "+r"(k), "+r"(l), "+r"(m), "+r"(o));
            made();
            i += j * k; l ^= m; o += p; a = a * b + i;
        }
        return a + i + j + k + l + m + o;
    }
    APART static int early(int n) { if (n < 0) return -1; if (n == 3) made(); for (int i = 0; i < n; i++) twice(); return n; }
    APART static int many(int a, int b, int c, int d, int e, int f, int g, int h, int i) { made(); return a + i + h + early(g & 3); }
    int EXPORTED(int n) {
        static pthread_once_t only = PTHREAD_ONCE_INIT;
        char letters[] = "zay";
        qsort(letters, 3, 1, compare);
        pthread_once(&only, once);
        double sum = crowded(n, 2.5, n) + early(n) + many(1, 2, 3, 4, 5, 6, 7, 8, n);
        asm volatile("" :: "x"(sum));
        return n;
    }
"""


@pytest.mark.parametrize(
    "options",
    [
        ["-O0"],
        ["-O1", "-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"],
        ["-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
        ["-O2", "-funwind-tables", "-fno-asynchronous-unwind-tables"],
        ["-O3", "-flto", "-ffat-lto-objects", "-march=x86-64-v3"],
        ["-O3", "-fomit-frame-pointer", "-funroll-loops", "-mstackrealign"],
        ["-Os", "-mno-push-args", "-maccumulate-outgoing-args"],
        ["-O2", "-fno-dwarf2-cfi-asm"],
        ["-O2", "-fstack-clash-protection", "-fstack-protector-all", "-fcf-protection=full", "-freorder-blocks-and-partition"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_library_compiled(bench: Bench, options: list[str]) -> None:
    """The library holds these functions; the program calls it."""
    code, library = bench.folder / "ways.c", bench.folder / "libways.so"
    code.write_text(
        "#define _GNU_SOURCE\n#define APART __attribute__((noinline))\n#include <pthread.h>\n#include <stdlib.h>\n"
        "extern void made(void), twice(void);\n" + WAYS.replace("EXPORTED", "ways")
    )
    flags = ["-w", "-shared", "-fPIC", *options]
    subprocess.run(["cc", *flags, "-o", str(library), str(code)], check=True)
    seen = equal_stacks(
        bench,
        """
        extern int ways(int);
        int main(void) { start(); for (int i = 0; i < 6; i++) CHECK(ways(i) == i); return 0; }
        """,
        "-rdynamic",
        "-D_GNU_SOURCE",
        "-Wl,--no-as-needed",
        str(library),
        f"-Wl,-rpath,{bench.folder}",
    )
    assert len(seen) > 6 * 5


def test_a_large_frame(bench: Bench) -> None:
    """Larger than a rule can say: the unwinder is asked."""
    seen = equal_stacks(
        bench,
        """
        APART static void large(int n) { volatile char room[5 << 20]; room[n] = 1; twice(); room[n + 1] = 1; }
        int main(void) { start(); for (int i = 0; i < 3; i++) { large(i); twice(); } return 0; }""",
        "-fomit-frame-pointer",
    )
    assert len(seen) == 12


def test_constructors_destructors_and_exit_handlers(bench: Bench) -> None:
    """The loader calls these, and holds its lock."""
    (bench.folder / "plugin.c").write_text(
        "extern void made(void);\n"
        "__attribute__((constructor)) static void load(void) { made(); }\n"
        "__attribute__((destructor)) static void unload(void) { made(); }\n"
    )
    library = str(bench.folder / "libplugin.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, str(bench.folder / "plugin.c")], check=True)
    seen = equal_stacks(
        bench,
        f"""
        #include <link.h>
        static void last(void) {{ twice(); }}
        static int visit(struct dl_phdr_info *file, size_t bytes, void *count) {{ made(); return ++*(int *)count == 3; }}
        int main(void) {{
            int files = 0;
            start();
            atexit(last);
            for (int i = 0; i < 5; i++) {{ void *plugin = dlopen("{library}", RTLD_NOW); made(); dlclose(plugin); made(); }}
            dl_iterate_phdr(visit, &files);
            return 0;
        }}""",
        "-rdynamic",
        "-D_GNU_SOURCE",
    )
    assert len(seen) == 5 * 4 + 3 + 2


def test_a_signal_in_the_kernels_own_code(bench: Bench) -> None:
    """The vdso writes where the program says, and faults there."""
    seen = equal_stacks(
        bench,
        """
        #include <setjmp.h>
        #include <time.h>
        static sigjmp_buf back;
        static void *volatile wild = (void *)4096;
        static void handler(int number) { twice(); siglongjmp(back, 1); }
        APART static void asks(void) { clock_gettime(CLOCK_MONOTONIC, wild); asm volatile(""); }
        int main(void) {
            struct sigaction action = {.sa_handler = handler};
            start();
            sigaction(SIGSEGV, &action, 0);
            for (volatile int i = 0; i < 3; i++) { if (!sigsetjmp(back, 1)) asks(); made(); }
            return 0;
        }""",
    )
    assert len(seen) == 9


def test_a_signal_whose_handler_returns_to_undescribed_code(bench: Bench) -> None:
    """As it does where the C library leaves that to the program; the unwinder knows the instructions."""
    seen = equal_stacks(
        bench,
        r"""
        #include <sys/syscall.h>
        struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } action;
        void comes_back(void);
        asm(".text\n nop\n comes_back: mov $15, %rax\n syscall\n");
        static void handler(int number) { twice(); }
        APART static void raises(void) { raise(SIGUSR1); asm volatile(""); }
        int main(void) {
            start();
            action.handler = handler;
            action.flags = 0x04000000;  /* SA_RESTORER */
            action.restorer = comes_back;
            CHECK(syscall(SYS_rt_sigaction, SIGUSR1, &action, 0, 8) == 0);
            for (int i = 0; i < 3; i++) { raises(); made(); }
            return 0;
        }""",
    )
    assert len(seen) == 9 and len(seen[0]) >= 6


def test_a_signal_at_the_first_instruction_of_a_function(bench: Bench) -> None:
    """The interrupted instruction, not the one before it, is what counts there."""
    seen = equal_stacks(
        bench,
        r"""
        void traps(void), follows(void);
        asm(".text\n"
            "traps: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n"
            "follows: .cfi_startproc\n push %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbp, 0\n ud2\n"
            " pop %rbp\n .cfi_adjust_cfa_offset -8\n ret\n .cfi_endproc\n");
        #include <ucontext.h>
        static void handler(int number, siginfo_t *info, void *context) {
            twice();
            ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
        }
        int main(void) {
            struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
            start();
            sigaction(SIGILL, &action, 0);
            for (int i = 0; i < 3; i++) { traps(); made(); follows(); }
            return 0;
        }""",
        "-D_GNU_SOURCE",
    )
    assert len(seen) == 15


def test_a_program_of_rust(bench: Bench) -> None:
    """Its panics run destructors on the way."""
    if not shutil.which("rustc"):
        pytest.skip("no Rust compiler")
    program = bench.folder / "client"
    (bench.folder / "client.rs").write_text(
        """
        extern "C" { fn begin(); fn tell(); }
        struct Guard(u32);
        impl Drop for Guard { fn drop(&mut self) { unsafe { tell() } } }
        #[inline(never)] fn down(n: u32, panics: bool) -> u32 {
            let guard = Guard(n);
            if n == 0 { if panics { panic!("on purpose") } unsafe { tell() } return 1; }
            down(n - 1, panics) + guard.0
        }
        fn main() {
            unsafe { begin() }
            std::panic::set_hook(Box::new(|_| unsafe { tell() }));
            for i in 0..4 { let _ = std::panic::catch_unwind(|| std::hint::black_box(down(3, i % 2 == 0))); }
            std::thread::spawn(|| down(5, false)).join().unwrap();
            let mut words = vec![3, 1, 2];
            words.sort_by(|a, b| { unsafe { tell() } a.cmp(b) });
        }"""
    )
    (bench.folder / "tell.c").write_text(PRELUDE + "void tell(void) { twice(); }\nvoid begin(void) { start(); }\n")
    object_file = str(bench.folder / "tell.o")
    subprocess.run(["cc", "-O2", "-w", "-c", f"-I{HERE}", "-o", object_file, str(bench.folder / "tell.c")], check=True)
    arguments = [
        "-O",
        "-C",
        "panic=unwind",
        "-C",
        f"link-arg={object_file}",
        "-C",
        f"link-arg={SHIM}",
        "-o",
        str(program),
    ]
    subprocess.run(["rustc", *arguments, str(bench.folder / "client.rs")], check=True, cwd=bench.folder)
    run = bench.run([str(program)])
    assert run.returncode == 0, run.stderr
    assert sorted(stacks(run.trace)) == sorted(told(run.stdout))
    assert len(stacks(run.trace)) >= 2 * (4 * 5 + 7 + 2)


def test_code_that_numba_compiles(bench: Bench) -> None:
    """LLVM registers the frames of what it generates."""
    pytest.importorskip("numba", reason="Numba is not installed")
    library = str(bench.folder / "libtell.so")
    (bench.folder / "tell.c").write_text(PRELUDE + "void tell(void) { twice(); }\nvoid begin(void) { start(); }\n")
    command = ["cc", "-O2", "-w", "-shared", "-fPIC", f"-I{HERE}", "-o", library, str(bench.folder / "tell.c")]
    subprocess.run([*command, str(SHIM)], check=True)
    script = bench.folder / "client.py"
    script.write_text(
        f"""
import ctypes
from numba import njit

library = ctypes.CDLL({library!r})
library.begin()
tell = library.tell
tell.argtypes, tell.restype = (), None

@njit
def inner(n):
    room = [float(n)] * n
    tell()
    return sum(room)

@njit
def outer(n):
    total = 0.0
    for i in range(n):
        total += inner(i + 1)
    tell()
    return total

for _ in range(2):
    assert outer(3) == 14.0
"""
    )
    run = bench.run([sys.executable, str(script)], timeout=600)
    assert run.returncode == 0, run.stderr
    seen = stacks(run.trace)
    assert seen == told(run.stdout)
    assert len(seen) == 2 * 2 * 4 and len(set(seen)) >= 4
    files = [range(module.start, module.end) for module in run.trace.recording.modules]
    assert all(any(not any(at in file for file in files) for at in stack) for stack in seen), "no generated code"
