"""What ``--races`` and ``--guard`` cost a serving loop with 20 small pinned copies a step: ``python tests/hardware/serving.py``, on a
machine with a GPU, a C compiler and cuvet. Runs take turns; medians are printed, and whether small pinned buffers lie side by side."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TURNS = 9
MODES: dict[str, tuple[str, ...]] = {
    "without cuvet": (),
    "--races": ("--races",),
    "--races --guard": ("--races", "--guard"),
}
PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
typedef uint64_t handle;
uint32_t cuInit(uint32_t), cuDevicePrimaryCtxRetain(handle *, int), cuCtxSetCurrent(handle), cuStreamCreate(handle *, uint32_t);
uint32_t cuMemAlloc_v2(handle *, size_t), cuMemHostAlloc(void *, size_t, uint32_t), cuStreamSynchronize(handle);
uint32_t cuMemcpyHtoDAsync_v2(handle, void *, size_t, handle), cuMemcpyDtoHAsync_v2(void *, handle, size_t, handle);
enum { BUFFERS = 20, STEPS = 2000, BYTES = 1024 };
static void check(uint32_t status) { if (status) { fprintf(stderr, "a call of CUDA failed: %u\n", status); exit(1); } }
int main(void) {
    handle context, stream, device;
    char *buffers[BUFFERS];
    int beside = 0;
    struct timespec start, end;
    check(cuInit(0)); check(cuDevicePrimaryCtxRetain(&context, 0)); check(cuCtxSetCurrent(context));
    check(cuStreamCreate(&stream, 1)); check(cuMemAlloc_v2(&device, BUFFERS * BYTES));
    for (int i = 0; i < BUFFERS; i++) check(cuMemHostAlloc(&buffers[i], BYTES, 0));
    for (int i = 1; i < BUFFERS; i++) beside += labs(buffers[i] - buffers[i - 1]) <= 4096;
    for (int step = -STEPS / 10; step < STEPS; step++) {
        if (step == 0) clock_gettime(CLOCK_MONOTONIC, &start);
        for (int i = 0; i < BUFFERS; i++) {
            if (i % 2) { check(cuMemcpyDtoHAsync_v2(buffers[i], device + i * BYTES, BYTES, stream)); continue; }
            buffers[i][0] = (char)step;
            check(cuMemcpyHtoDAsync_v2(device + i * BYTES, buffers[i], BYTES, stream));
        }
        check(cuStreamSynchronize(stream));
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double us = (end.tv_sec - start.tv_sec) * 1e6 + (end.tv_nsec - start.tv_nsec) / 1e3;
    printf("{\"us\": %.3f, \"beside\": %d}\n", us / STEPS, beside);
}
"""


def built(folder: Path) -> Path:
    code, program = folder / "serving.c", folder / "serving"
    code.write_text(PROGRAM)
    subprocess.run(["cc", "-O2", "-w", "-o", str(program), str(code), "-l:libcuda.so.1"], check=True)
    return program


def run(program: Path, options: tuple[str, ...]) -> dict[str, float]:
    checked = [sys.executable, "-m", "cuvet", "run", *options, "--output", "/dev/null", "--"] if options else []
    done = subprocess.run([*checked, str(program)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        found: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
        for _ in range(TURNS):
            for mode, options in MODES.items():
                found[mode].append(run(program, options))
    bare = [each["us"] for each in found["without cuvet"]]
    for mode, rounds in found.items():
        us = statistics.median(each["us"] for each in rounds)
        ratio = statistics.median(each["us"] / one for each, one in zip(rounds, bare, strict=True))
        print(
            f"{mode}: {us:.1f} µs a step, × {ratio:.2f}; {rounds[0]['beside']:.0f} of 19 buffers lie beside the one before"
        )


if __name__ == "__main__":
    main()
