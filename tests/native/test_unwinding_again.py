"""A thread knows the stacks of its last walks again by words that stand where they stood. What an earlier call has left there must not
be taken for a frame."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.native.conftest import Bench
from tests.native.unwinding import PLUGIN, compile_program, equal_stacks, stacks, told

NATIVE_SOURCES = Path(__file__).parents[2] / "native"


COMPARED = r"""
#include <stdio.h>
#include "unwind.h"
using namespace cuvet;
// Three frames: the first has no frame pointer, the second keeps its caller's, the third begins where the frame pointer says.
static uint64_t stack[64];
static uint64_t at(int word) { return reinterpret_cast<uint64_t>(stack + word); }
static const Start START = {0x1000, at(8), at(40)};
static Walk walk;
static Footprint walked() {
    stack[16] = 0x2000, stack[30] = at(40), stack[31] = 0x3000, stack[41] = 0x4000;
    walk = {};
    walk.steps[walk.count++] = {0x1000, at(8), at(40), stack + 16, nullptr, true, false};
    walk.steps[walk.count++] = {0x2000, at(17), at(40), stack + 31, stack + 30, true, false};
    walk.steps[walk.count++] = {0x3000, at(32), at(40), stack + 41, stack + 40, true, true};
    walk.steps[walk.count++] = {0x4000, at(42), 0, nullptr, nullptr, true, false};
    walk.is_settled = true;
    Footprint footprint;
    note_words(walk, START, &footprint);
    return footprint;
}
int main() {
    Footprint seen = walked();
    printf("%d", is_walked_again(seen, START));
    printf("%d", is_walked_again(seen, {0x1008, at(8), at(40)}));   // another place in the code
    printf("%d", is_walked_again(seen, {0x1000, at(4), at(40)}));   // a deeper one on the stack
    printf("%d", is_walked_again(seen, {0x1000, at(8), 0}));        // a frame pointer that no frame needs
    stack[30] = at(44);                                             // one that leads elsewhere
    printf("%d", is_walked_again(seen, START));
    seen = walked(), stack[31] = 0x3008;                            // another caller
    printf("%d", is_walked_again(seen, START));
    seen = walked(), stack[41] = 0x4008;                            // the outermost is another
    printf("%d", is_walked_again(seen, START));
    seen = walked(), stack[4] = 0x2000;                             // its caller's address lies on another stack
    walk.steps[0].return_at = stack + 4, note_words(walk, START, &seen);
    printf("%d", is_walked_again(seen, START));
}
"""


def test_a_stack_is_the_same_only_if_all_that_leads_along_it_is(tmp_path: Path) -> None:
    (tmp_path / "compared.cpp").write_text(COMPARED)
    program = str(tmp_path / "compared")
    command = ["c++", "-std=c++17", "-O2", f"-I{NATIVE_SOURCES}", "-o", program, str(tmp_path / "compared.cpp")]
    subprocess.run(command, check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "10010000"


ALIGNED = """
    asm(".text\\n .type aligned, @function\\n"
        "aligned: .cfi_startproc\\n lea 8(%rsp), %r10\\n .cfi_def_cfa 10, 0\\n and $-4096, %rsp\\n push -8(%r10)\\n"
        " push %rbp\\n mov %rsp, %rbp\\n .cfi_escape 0x10,0x6,0x2,0x76,0\\n"
        " push %r10\\n .cfi_escape 0xf,0x3,0x76,0x78,0x6\\n sub $24, %rsp\\n call made\\n"
        " mov -8(%rbp), %r10\\n .cfi_def_cfa 10, 0\\n leave\\n lea -8(%r10), %rsp\\n .cfi_def_cfa 7, 8\\n ret\\n"
        " .cfi_endproc\\n .size aligned, .-aligned\\n");
    void aligned(void);
"""
"""As compilers align the frame of a function with parameters on the stack: where its caller's frame ends stands in memory only."""


def test_an_aligned_frame_may_have_another_caller_at_another_place(bench: Bench) -> None:
    """The frame pointer and all frames inside are where they were, and so is the return address of the call before, in what alignment has
    left unused."""
    seen = equal_stacks(
        bench,
        ALIGNED
        + """
        #define OUTER(name, bytes) \\
            APART static void name(void) { char room[bytes]; asm volatile("" :: "r"(room)); aligned(); asm volatile(""); }
        OUTER(larger, 280) OUTER(smaller, 264)
        APART static void base(void) {
            __attribute__((aligned(8192))) volatile char room[64];
            static void (*const outers[])(void) = {larger, smaller};
            asm volatile("" :: "r"(room));
            for (volatile int i = 0; i < 6; i++) outers[i % 2]();
        }
        int main(void) { start(); base(); return 0; }""",
        "-fomit-frame-pointer",
    )
    assert len(seen) == 6 and len(set(seen)) == 2


def test_a_library_in_the_place_of_another_whose_frame_was_smaller(bench: Bench) -> None:
    """All frames inside are where they were. Of the library before, the return address is still there, in what its successor does not use
    of its larger frame. Libraries come and go on another thread, whose stack is another."""
    for name, size in (("one", 0x808), ("other", 0x1008)):
        (bench.folder / f"{name}.c").write_text(PLUGIN % (size, size, size, size))
        library = str(bench.folder / f"lib{name}.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(bench.folder / f"{name}.c")], check=True)
    program = compile_program(
        bench,
        """
        static void *library;
        static void *load(void *path) {
            if (library) CHECK(dlclose(library) == 0);
            CHECK(library = dlopen(path, RTLD_NOW));
            return dlsym(library, "through");
        }
        #define OUTER(name, bytes) \\
            APART static void name(void (*through)(void (*)(void))) { \\
                char room[bytes]; \\
                asm volatile("" :: "r"(room)); \\
                through(made); \\
                asm volatile(""); \\
            }
        OUTER(one, (1 << 19) + 0x800) OUTER(other, 1 << 19)
        int main(int count, char **arguments) {
            static void (*const outers[])(void (*)(void (*)(void))) = {one, other};
            start();
            for (volatile int i = 0; i < 6; i++) {
                pthread_t thread;
                void *through;
                CHECK(pthread_create(&thread, 0, load, arguments[1 + i % 2]) == 0);
                CHECK(pthread_join(thread, &through) == 0);
                outers[i % 2]((void (*)(void (*)(void)))through);
            }
            return 0;
        }""",
        "-fomit-frame-pointer",
    )
    run = bench.run([str(program), *(str(bench.folder / f"lib{name}.so") for name in ("one", "other"))])
    assert run.returncode == 0, run.stderr
    assert stacks(run.trace) == told(run.stdout)
    assert len({stack[0] for stack in stacks(run.trace)}) == 1, "the libraries were not in one place"
    assert len(set(stacks(run.trace))) == 2
