#!/usr/bin/env python
"""Sweeps block shapes for the 5-point stencil."""
import argparse
import csv
import sys

import numpy as np
from numba import cuda, float32


@cuda.jit
def jacobi(src, dst, h2):
    y, x = cuda.grid(2)
    ny, nx = src.shape
    if 0 < y < ny - 1 and 0 < x < nx - 1:
        dst[y, x] = float32(0.25) * (
            src[y - 1, x] + src[y + 1, x] + src[y, x - 1] + src[y, x + 1]
        ) + h2


class Timer:
    def __init__(self, stream):
        self.stream = stream
        self.t0 = cuda.event(timing=True)
        self.t1 = cuda.event(timing=True)

    def __enter__(self):
        self.t0.record(self.stream)
        return self

    def __exit__(self, *exc):
        self.t1.record(self.stream)

    def ms(self):
        self.t1.synchronize()
        return cuda.event_elapsed_time(self.t0, self.t1)


def measure(n, block, sweeps, warm=3):
    stream = cuda.stream()
    host = np.zeros((n, n), np.float32)
    host[0, :] = 1.0
    a = cuda.to_device(host, stream=stream)
    b = cuda.to_device(host, stream=stream)
    grid = ((n + block[0] - 1) // block[0], (n + block[1] - 1) // block[1])
    h2 = np.float32(0.0)
    for _ in range(warm):
        jacobi[grid, block, stream](a, b, h2)
        jacobi[grid, block, stream](b, a, h2)

    timer = Timer(stream)
    with timer:
        for _ in range(sweeps // 2):
            jacobi[grid, block, stream](a, b, h2)
            jacobi[grid, block, stream](b, a, h2)
    ms = timer.ms() / (2 * (sweeps // 2))
    gbs = 2 * host.nbytes / ms / 1e6
    return ms, gbs


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=8192)
    ap.add_argument("--sweeps", type=int, default=200)
    ap.add_argument("--gpu", type=int, default=0)
    args = ap.parse_args()
    if args.sweeps < 2:
        ap.error("at least two sweeps")
    cuda.select_device(args.gpu)

    out = csv.writer(sys.stdout)
    out.writerow(["block_y", "block_x", "ms", "GB/s"])
    for block in [(4, 32), (8, 32), (16, 16), (16, 32), (32, 32)]:
        ms, gbs = measure(args.n, block, args.sweeps)
        out.writerow([*block, f"{ms:.4f}", f"{gbs:.1f}"])


if __name__ == "__main__":
    main()
