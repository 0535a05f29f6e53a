"""The fact programs as real CUDA programs: one source file with all of them, chosen by the first argument.

A program prints one line per checked call, ``> <call text> = <status>``, as soon as the call has returned.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.expected import EXPECTED, NOT_YET

ROOT = Path(__file__).parents[2]
FACTS = ROOT / "src" / "cuvet" / "knowledge" / "facts" / "h200-driver580-cuda13.jsonl"
MORE_FACTS = FACTS.with_name("h200x2-driver580-cuda13-2026-11-21.jsonl")
LATEST_FACTS = FACTS.with_name("h200-driver580-cuda13-2026-11-21.jsonl")
OF_ENDED_CONTEXTS = FACTS.with_name("h200-driver580-cuda13-2026-11-24.jsonl")
CACHE = ROOT / ".cache" / "programs"

PRELUDE = r"""
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#define R(call) report(#call, (int)(call))
#define D(call) report(#call, (int)(call))

static void report(const char* call, int status) {
    printf("> %s = %d\n", call, status);
    fflush(stdout);
}

__global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

__global__ void touch(float* p, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) p[i] = 1.0f;
}

static char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(){ ret; }\n"
    ".visible .entry dies(){ trap; ret; }\n"
    ".visible .entry slow(){ .reg .u64 %a,%b,%c; .reg .pred %p; mov.u64 %a,%clock64; L: mov.u64 %b,%clock64; sub.u64 %c,%b,%a;"
    " setp.lt.u64 %p,%c,500000000; @%p bra L; ret; }\n";
"""


@dataclass(frozen=True)
class Fact:
    """A program and what it did on the hardware: (call text, status) of each call that returned, and the signal it died of."""

    id: str
    family: str
    program: str
    calls: tuple[tuple[str, int], ...]
    signal: int | None
    devices: int = 1
    """GPUs that it needs."""
    varied: tuple[tuple[tuple[int, ...], int | None], ...] = ()
    """Other ends that repeated runs came to: statuses and signal."""


def facts(file: Path = FACTS) -> tuple[Fact, ...]:
    """All facts of a file that are programs (the rows without one were driven through ctypes)."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return tuple(
        Fact(
            row["id"],
            row.get("family", ""),
            row["program"],
            tuple((c["call"], c["status"]) for c in row["calls"]),
            row["signal"],
            row.get("devices", 1),
            tuple((tuple(statuses), signal) for (statuses, signal), _ in row.get("varied", ())),
        )
        for row in rows
        if row["program"]
    )


def all_facts() -> tuple[Fact, ...]:
    """Those of every file that the emulated device is to answer as the hardware did."""
    latest = (fact for fact in facts(LATEST_FACTS) if fact.id in EXPECTED or not fact.id.startswith(NOT_YET))
    return (*facts(), *facts(MORE_FACTS), *latest, *facts(OF_ENDED_CONTEXTS))


def source(programs: Iterable[Fact]) -> str:
    """One translation unit: a function per program, ``main`` calls the one that its argument names."""
    chosen = list(programs)
    functions = "\n".join(
        f"static void {_name(fact)}() {{\n    {_lines(fact.program)}\n#undef TRY\n}}\n" for fact in chosen
    )
    rows = "\n".join(f'    if (!strcmp(argv[1], "{fact.id}")) return {_name(fact)}(), 0;' for fact in chosen)
    main = f"int main(int argc, char** argv) {{\n    if (argc != 2) return 2;\n{rows}\n    return 2;\n}}\n"
    return f"{PRELUDE}\n{functions}\n{main}"


def _name(fact: Fact) -> str:
    return f"program_{fact.id}"


def _lines(program: str) -> str:
    """A statement per line, so that each has a line number of its own. A program with macros stays as it is."""
    if "#define" in program:
        return program
    return re.sub(r";(?=[^\s\"'})])(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", ";\n    ", program)


def compile_programs(nvcc: Path | str, text: str, options: Sequence[str]) -> Path:
    """Path of the executable; compiled once per text, compiler and options. RuntimeError with nvcc's message if it fails."""
    key = hashlib.sha256("\0".join([text, str(nvcc), *options]).encode()).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    executable = CACHE / f"programs-{key}"
    if executable.exists():
        return executable
    file = CACHE / f"programs-{key}.cu"
    file.write_text(text, encoding="utf-8")
    unfinished = CACHE / f"programs-{key}.{os.getpid()}"
    done = subprocess.run(
        [str(nvcc), *options, "-o", str(unfinished), str(file)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"nvcc failed: {done.stderr or done.stdout}")
    unfinished.rename(executable)
    return executable


def calls_printed(output: str) -> tuple[tuple[str, int], ...]:
    """(call text, status) of each line that ``report`` printed."""
    found = re.findall(r"^> (.*) = (-?\d+)$", output, re.MULTILINE)
    return tuple((call, int(status)) for call, status in found)


if __name__ == "__main__":
    sys.stdout.write(source(facts()))
