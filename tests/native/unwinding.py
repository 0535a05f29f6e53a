"""Programs that print what the process's own unwinder says of the stack of each call that makes an event."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.native.conftest import HERE, Bench, Seen
from tests.under_test import SHIM

# ``made()`` makes an event and prints what the unwinder says of the frames around it.
PRELUDE = r"""
#define _GNU_SOURCE
#ifdef __cplusplus
#include <cstdint>
extern "C" {
#endif
#include "client.h"
#include <unwind.h>
#define APART __attribute__((noinline, noclone))
static __thread uintptr_t seen[64];
static __thread int count;
static _Unwind_Reason_Code take(struct _Unwind_Context *frame, void *unused) {
    if (count < 64 && _Unwind_GetIP(frame)) seen[count++] = _Unwind_GetIP(frame);
    return _URC_NO_REASON;
}
APART void made(void) {
    char line[2048];
    int used = 0;
    handle event;
    count = 0;
    _Unwind_Backtrace(take, 0);
    CHECK(cuEventCreate(&event, 0) == 0);
    for (int i = 1; i < count; i++) used += sprintf(line + used, "%lx ", (long)seen[i]);
    line[used++] = '\n';
    CHECK(write(1, line, used) == used);
    CHECK(cuEventDestroy_v2(event) == 0);
}
APART void twice(void) { made(); made(); asm volatile(""); }
#ifdef __cplusplus
}
#endif
"""

# A library's function with a frame of a certain size.
PLUGIN = """
    asm(".text\\n .globl through\\n .type through, @function\\n"
        "through: .cfi_startproc\\n sub $0x%x, %%rsp\\n .cfi_adjust_cfa_offset 0x%x\\n call *%%rdi\\n add $0x%x, %%rsp\\n"
        " .cfi_adjust_cfa_offset -0x%x\\n ret\\n .cfi_endproc\\n .size through, .-through\\n");
"""


def compile_program(bench: Bench, source: str, *options: str, language: str = "c") -> Path:
    program, code = bench.folder / "client", bench.folder / f"client.{language}"
    code.write_text(PRELUDE + source)
    compiler = "cc" if language == "c" else "c++"
    flags = ["-O2", "-g", "-w", "-fno-optimize-sibling-calls", f"-I{HERE}", "-pthread"]
    subprocess.run([compiler, *flags, *options, "-o", str(program), str(code), str(SHIM), "-ldl"], check=True)
    return program


def stacks(trace: Seen) -> list[tuple[int, ...]]:
    """Of the calls that made an event, without the innermost frame."""
    recorded = trace.recording.stacks
    return [tuple(recorded[call.stack].native[1:]) for call in trace.named("cuEventCreate")]


def told(output: str) -> list[tuple[int, ...]]:
    return [tuple(int(word, 16) for word in line.split()) for line in output.splitlines()]


def equal_stacks(bench: Bench, source: str, *options: str, language: str = "c") -> list[tuple[int, ...]]:
    """Runs the program; fails unless each recorded stack is what the unwinder said. Returns them."""
    run = bench.run([str(compile_program(bench, source, *options, language=language))])
    assert run.returncode == 0, run.stderr
    expected = told(run.stdout)
    assert expected and stacks(run.trace) == expected
    return expected
