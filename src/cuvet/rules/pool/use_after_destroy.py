from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy


class PoolUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a memory pool that `cuMemPoolDestroy` destroyed before.

    ## Why it is wrong
    The pool is released as soon as its last allocation is freed; from then on the handle names nothing. Calls
    with it were measured to return CUDA_ERROR_INVALID_VALUE.

    ## Use instead
    Destroy the memory pool after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV451"
    name = "pool-use-after-destroy"
    severity = "error"
    summary = "a memory pool is used after it was destroyed"
    help = "destroy the memory pool after its last use, or clear the variable that still holds it"
    kind = Kind.MEMORY_POOL
    outcomes = (1,)
    evidence = """
    measured: allocating from it and trimming it: CUDA_ERROR_INVALID_VALUE (pool_use_after_destroy,
      pool_trim_after_destroy)
    documented: If any pointers obtained from this pool have not been freed when cuMemPoolDestroy is invoked, the
      function returns immediately and the resources are released automatically once there are no more outstanding
      allocations. (CUDA Driver API, Stream Ordered Memory Allocator, cuMemPoolDestroy)
    """
    VALID = """
## destroyed after its last use
pool = cu.pool()
cu.cuMemAllocFromPoolAsync(4096, pool, 0)
cu.cuMemPoolDestroy(pool)

## destroyed with an allocation outstanding
note: the pool is released when its last allocation is freed
pool = cu.pool()
memory = cu.cuMemAllocFromPoolAsync(4096, pool, 0)
cu.cuMemPoolDestroy(pool)
cu.cuMemFreeAsync(memory, 0)
cu.cuCtxSynchronize()

## handle issued again
note: the new one often has the old handle value
pool = cu.pool()
cu.cuMemPoolDestroy(pool)
pool = cu.pool()
cu.cuMemAllocFromPoolAsync(4096, pool, 0)
cu.cuMemPoolDestroy(pool)

## C++: destroyed after the last allocation [cuda]
void run(const cudaMemPoolProps *properties, size_t bytes, cudaStream_t stream) {
    cudaMemPool_t pool;
    void *values;
    cudaMemPoolCreate(&pool, properties);
    cudaMallocFromPoolAsync(&values, bytes, pool, stream);
    cudaMemPoolDestroy(pool);
    cudaFreeAsync(values, stream);
}
"""
    INVALID = """
## used after its destruction
pool = cu.pool()
cu.cuMemPoolDestroy(pool)
cu.cuMemAllocFromPoolAsync(4096, pool, 0)  # error: [pool-use-after-destroy]

## used in another way
pool = cu.pool()
cu.cuMemPoolDestroy(pool)
cu.cuMemPoolTrimTo(pool, 0)  # error: [pool-use-after-destroy]

## destroyed by another thread
pool = cu.pool()
cu.in_thread(lambda: cu.cuMemPoolDestroy(pool))
cu.cuMemAllocFromPoolAsync(4096, pool, 0)  # error: [pool-use-after-destroy]

## C++: allocated from a destroyed pool [cuda]
void run(const cudaMemPoolProps *properties, size_t bytes, cudaStream_t stream) {
    cudaMemPool_t pool;
    void *values;
    cudaMemPoolCreate(&pool, properties);
    cudaMemPoolDestroy(pool);
    cudaMallocFromPoolAsync(&values, bytes, pool, stream);  // error: [pool-use-after-destroy]
    cudaFreeAsync(values, stream);
}

## Python: trimmed after the destruction [python]
from cuda.bindings import driver

def run(properties, work):
    error, pool = driver.cuMemPoolCreate(properties)
    work(pool)
    error, = driver.cuMemPoolDestroy(pool)
    error, = driver.cuMemPoolTrimTo(pool, 0)  # error: [pool-use-after-destroy]

## C#: allocated from a destroyed pool [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run(CUmemPoolProps properties, CUstream stream) {
        CUmemoryPool pool = new CUmemoryPool();
        CUdeviceptr values = new CUdeviceptr();
        Check(MemoryManagement.cuMemPoolCreate(ref pool, ref properties));
        Check(MemoryManagement.cuMemPoolDestroy(pool));
        Check(MemoryManagement.cuMemAllocFromPoolAsync(ref values, 1024, pool, stream));  // error: [pool-use-after-destroy]
        Check(MemoryManagement.cuMemFreeAsync(values, stream));
    }
}
"""
