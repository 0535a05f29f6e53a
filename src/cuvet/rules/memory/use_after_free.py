from cuvet.model import Call, ModelView
from cuvet.model.accesses import COPIES, SETS, accesses, pinned_at
from cuvet.rules.lifecycle import chain
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CRASH, CallRule, Violations


class MemoryUseAfterFree(CallRule):
    """
    checks: A copy or set names device memory that was freed before.
    why: The address belongs to no allocation, or to another one. Then the copy overwrites the contents of that one.
    instead: Free memory after the last call that names it. ``cuMemFreeAsync`` takes effect for all work enqueued after it.
    limits: If the address was handed out again, the call is a valid access to the new allocation. Reported only when the call fails,
      which it did wherever it was measured. `memory-freed-in-kernel` is about kernels.
    """

    code = "CV405"
    in_source = True
    only_after_end = True
    summary = "a copy or set names freed memory"
    help = "free the memory after the last copy or set that names it"
    entry_points = COPIES | SETS
    only_when = beyond_ordinary_memory
    evidence = """
    measured: copies and sets return CUDA_ERROR_INVALID_VALUE (memset_freed, memcpy_freed, memcpy_freed_async_memory)
    documented: access by work launched after cuMemFreeAsync is undefined behavior (CUDA Driver API, Stream Ordered
      Memory Allocator, cuMemFreeAsync)
    """
    VALID = """
## freed after the copy
memory = cu.cuMemAlloc(4096)
cu.cuMemcpyHtoD(memory, cu.host(4096), 4096)
cu.cuMemFree(memory)

## freed in stream order after the set
note: the set need not have run when the free is enqueued
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## address handed out again
first = cu.cuMemAlloc(1 << 20)
cu.cuMemFree(first)
second = cu.cuMemAlloc(1 << 20)
cu.cuMemsetD8(second, 0, 1 << 20)
cu.cuMemFree(second)

## C++: freed and allocated anew [cuda]
void resize(float **values, size_t bytes) {
    cudaFree(*values);
    cudaMalloc(values, bytes);
    cudaMemset(*values, 0, bytes);
}

## Python: copied back before it is freed [python cudart]
def download(host, size, work):
    error, values = cudart.cudaMalloc(size)
    work(values)
    error, = cudart.cudaMemcpy(host, values, size, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost)
    error, = cudart.cudaFree(values)

## C#: a field that is allocated anew [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Buffer {
    CUdeviceptr values = new CUdeviceptr();

    void Resize(uint size) {
        Check(MemoryManagement.cuMemFree_v2(values));
        Check(MemoryManagement.cuMemAlloc_v2(ref values, size));
        Check(Memset.cuMemsetD8_v2(values, 0, size));
    }

    public void Dispose() {
        Check(MemoryManagement.cuMemFree_v2(values));
    }
}
"""
    INVALID = """
## set
memory = cu.cuMemAlloc(4096)
cu.cuMemFree(memory)
cu.cuMemsetD8(memory, 0, 4096)  # error: [memory-use-after-free]

## copy into freed memory
memory = cu.cuMemAlloc(4096)
cu.cuMemFree(memory)
cu.cuMemcpyHtoD(memory, cu.host(4096), 4096)  # error: [memory-use-after-free]

## copy from memory freed in stream order
memory = cu.cuMemAllocAsync(4096, 0)
cu.cuMemFreeAsync(memory, 0)
cu.cuMemcpyDtoHAsync(cu.host(4096), memory, 4096, 0)  # error: [memory-use-after-free]

## C++: copied back after it was freed [cuda]
void sum(float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));
    add<<<1, n>>>(values);
    cudaFree(values);
    cudaMemcpy(host, values, n * sizeof(float), cudaMemcpyDeviceToHost);  // error: [memory-use-after-free]
}

## C++: used on the stream after the free in stream order [cuda]
void clear(size_t bytes, cudaStream_t stream) {
    float *values;
    cudaMallocAsync(&values, bytes, stream);
    cudaFreeAsync(values, stream);
    cudaMemsetAsync(values, 0, bytes, stream);  // error: [memory-use-after-free]
}

## Python: copied back after it was freed [python cudart]
def download(host, size, work):
    error, values = cudart.cudaMalloc(size)
    work(values)
    error, = cudart.cudaFree(values)
    error, = cudart.cudaMemcpy(host, values, size, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost)  # error: [memory-use-after-free]

## C#: set after it was freed [c# method]
void Run(uint size) {
    CUdeviceptr values = new CUdeviceptr();
    Check(MemoryManagement.cuMemAlloc_v2(ref values, size));
    Check(MemoryManagement.cuMemFree_v2(values));
    Check(Memset.cuMemsetD8_v2(values, 0, size));  // error: [memory-use-after-free]
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for access in accesses(call):
            dead = model.allocation_at(access.address) if access.side != "host" else None
            if dead is None or dead.destroyed_by is None or dead.killed_by is not None:
                continue
            if pinned_at(model, access.address):
                continue
            yield cls.refused(
                f"{access.work} of {access.shape} {access.where} {dead.name}, which was freed before this call",
                dead,
                argument=access.argument,
                because=chain(dead),
                outcomes=(1, CRASH) if access.side == "any" else (1,),
                undefined=access.side == "any" or (dead.variant in ("linear", "pitched") and dead.freed_on is not None),
            )
