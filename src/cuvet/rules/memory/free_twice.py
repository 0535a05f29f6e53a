from cuvet.model import Allocation, Call, ModelView
from cuvet.rules.frees import ENTRY_POINTS, Case, freed
from cuvet.rules.lifecycle import chain
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations


class MemoryFreeTwice(CallRule):
    """
    checks: Memory is freed a second time: device memory, managed, stream-ordered or pinned host memory.
    why: The address no longer belongs to the program. If a new allocation has it, the second free ends that without an error.
    instead: Let one owner free each allocation, and set the pointer to NULL afterwards: freeing NULL does nothing.
    limits: If a new allocation has the same address, the second free is a valid free of that one and is not reported.
    """

    code = "CV401"
    in_source = True
    only_after_end = True
    summary = "memory is freed a second time"
    help = "free it once; set the pointer to NULL after the free, because freeing NULL does nothing"
    entry_points = ENTRY_POINTS
    fix = "remove-call"
    only_when = beyond_ordinary_memory
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (free_twice, freeasync_twice, free_of_mallocasync, freehost_interior)
    measured, cuMemFree succeeds: cuMemFree after cuMemFreeAsync of cuMemAlloc memory returns CUDA_SUCCESS
      (freeasync_of_malloc_then_free)
    recorded, cuMemFreeAsync succeeds: a second cuMemFreeAsync of cuMemAlloc memory: no error
    documented: a second free is an error; freeing 0 does nothing (CUDA Runtime API, Memory Management, cudaFree)
    """
    VALID = """
## freed once, the pointer cleared
note: freeing NULL does nothing
memory = cu.cuMemAlloc(1024)
cu.cuMemFree(memory)
memory = 0
cu.cuMemFree(memory)

## address handed out again
note: the second allocation may have the first one's address
first = cu.cuMemAlloc(1 << 20)
cu.cuMemFree(first)
second = cu.cuMemAlloc(1 << 20)
cu.cuMemFree(second)

## stream-ordered memory freed at once
note: cuMemFree takes stream-ordered memory too
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuStreamSynchronize(stream)
cu.cuMemFree(memory)
cu.cuStreamDestroy(stream)

## C++: grown [cuda]
void grow(float **values, size_t *bytes, size_t wanted) {
    if (*bytes < wanted) {
        cudaFree(*values);
        cudaMalloc(values, wanted);
        *bytes = wanted;
    }
}

## Python: in finally alone [python cudart]
def clear(size, work):
    error, values = cudart.cudaMalloc(size)
    try:
        work(values)
    finally:
        error, = cudart.cudaFree(values)

## C#: freed in finally [c# method]
void Run(int size) {
    CUdeviceptr values = new CUdeviceptr();
    Check(MemoryManagement.cuMemAlloc_v2(ref values, size));
    try {
        Launch(values);
    } finally {
        Check(MemoryManagement.cuMemFree_v2(values));
    }
}
"""
    INVALID = """
## device memory
memory = cu.cuMemAlloc(1024)
cu.cuMemFree(memory)
cu.cuMemFree(memory)  # error: [memory-free-twice]

## stream-ordered memory
memory = cu.cuMemAllocAsync(1 << 20, 0)
cu.cuMemFreeAsync(memory, 0)
cu.cuMemFreeAsync(memory, 0)  # error: [memory-free-twice]

## pinned host memory
memory = cu.cuMemHostAlloc(4096, 0)
cu.cuMemFreeHost(memory)
cu.cuMemFreeHost(memory)  # error: [memory-free-twice]

## C++: in the error branch and at the end [cuda]
int solve(float *host, size_t bytes) {
    float *values;
    cudaMalloc(&values, bytes);
    int result = factor(values);
    if (result != 0) {
        puts("no factors");
        cudaFree(values);
    }
    cudaMemcpy(host, values, bytes, cudaMemcpyDeviceToHost);  // error: [memory-use-after-free]
    cudaFree(values);  // error: [memory-free-twice]
    return result;
}

## C++: copied pointers [cuda]
void swap_buffers(size_t bytes) {
    float *front, *back;
    cudaMalloc(&front, bytes);
    back = front;
    blur<<<1, 256>>>(front, back);
    cudaFree(front);
    cudaFree(back);  // error: [memory-free-twice]
}

## C++: pinned memory [c++]
void upload(CUdeviceptr to, size_t bytes) {
    void *staging;
    cuMemAllocHost(&staging, bytes);
    read(staging, bytes);
    cuMemcpyHtoD(to, staging, bytes);
    cuMemFreeHost(staging);
    cuMemFreeHost(staging);  // error: [memory-free-twice]
}

## Python: in the block and in finally [python cudart]
def clear(size, work):
    error, values = cudart.cudaMalloc(size)
    try:
        work(values)
        error, = cudart.cudaFree(values)
    finally:
        error, = cudart.cudaFree(values)  # error: [memory-free-twice]

## C#: ManagedCuda's functions [c# method]
void Run(int size) {
    CUdeviceptr values = new CUdeviceptr();
    Check(MemoryManagement.cuMemAlloc_v2(ref values, size));
    Launch(values);
    Check(MemoryManagement.cuMemFree_v2(values));
    Check(MemoryManagement.cuMemFree_v2(values));  // error: [memory-free-twice]
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        given = freed(call, model)
        dead = given.object
        if given.case is not Case.TWICE or dead is None:
            return
        in_flight = isinstance(dead, Allocation) and dead.freed_on is not None and dead.variant != "stream-ordered"
        yield cls.broken(
            f"{dead.name} was already freed",
            dead,
            argument=given.argument,
            because=chain(dead),
            outcomes=() if in_flight else (1,),
            only_if_failed=not in_flight,
        )
