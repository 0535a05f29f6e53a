"""Lets calls of its own fail, by cuvet.fail, and says what came of it."""

import ctypes
import sys

import cuvet

cudart = ctypes.CDLL("libcudart.so.13")
cuda = ctypes.CDLL("libcuda.so.1")


def allocate() -> tuple[int, int]:
    memory = ctypes.c_void_p()
    status = cudart.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(1024))
    if status == 0:
        assert cudart.cudaFree(memory) == 0
    return status, memory.value or 0


before = allocate()
with cuvet.fail("cudaMalloc", nth=2, status="cudaErrorMemoryAllocation") as fault:
    seen = [allocate()[0] for _ in range(3)]
print(before[0], seen, fault.count, allocate()[0])

with cuvet.fail("cuStreamCreate", status=801, every=True) as fault:
    stream = ctypes.c_void_p()
    seen = [cuda.cuStreamCreate(ctypes.byref(stream), 0) for _ in range(2)]
print(seen, fault.count, stream.value)

for wrong in (
    {"function": "cudaMaloc", "status": 2},
    {"function": "cudaMalloc", "status": "cudaErrorNothing"},
    {"function": "cudaMalloc", "status": 2, "nth": 0},
    {"function": "cudaMalloc", "status": 719},
    {"function": "cudaMalloc", "status": 2, "nth": 5},
):
    try:
        with cuvet.fail(**wrong):
            allocate()
    except cuvet.CuvetError as error:
        print(error)
try:
    with cuvet.fail("cudaMalloc", nth=5, status=2), cuvet.fail("cudaFree", status=1):
        pass
except cuvet.CuvetError as error:
    print(error)
try:
    with cuvet.fail("cudaMalloc", nth=5, status=2):
        sys.exit("as it is")
except SystemExit as error:
    print(error)
