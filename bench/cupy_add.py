"""CuPy's cost: one line when it is warm; then, for each line on stdin, one line of JSON with the microseconds of `a + b` on 1,024 floats,
with the pool of cudaMallocAsync."""

import json
import sys
import time

import cupy as cp

REPEATS = 2000


def main() -> None:
    cp.cuda.set_allocator(cp.cuda.MemoryAsyncPool().malloc)
    a, b = cp.ones(1024, dtype=cp.float32), cp.ones(1024, dtype=cp.float32)
    for _ in range(REPEATS):
        a + b
    cp.cuda.Device().synchronize()
    print("warm", flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        for _ in range(REPEATS):
            a + b
        taken = time.perf_counter() - begun
        cp.cuda.Device().synchronize()
        print(json.dumps({"CuPy a + b, 1,024 floats, MemoryAsyncPool": [taken / REPEATS * 1e6]}), flush=True)


main()
