from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice


class PoolDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuMemPoolDestroy` is called with a memory pool that was destroyed before.

    ## Why it is wrong
    The first call already marked the pool for destruction. The second was measured to be refused with
    CUDA_ERROR_INVALID_VALUE, with and without allocations outstanding.

    ## Use instead
    Give the memory pool one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV452"
    name = "pool-destroy-twice"
    severity = "error"
    summary = "a memory pool is destroyed twice"
    help = "let one owner destroy the memory pool, and clear its handle at that moment"
    kind = Kind.MEMORY_POOL
    outcomes = (1,)
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE; the driver logs that the handle is already marked for destruction
      (pool_destroy_twice, pool_destroy_outstanding)
    """
    VALID = """
## destroyed once
pool = cu.pool()
cu.cuMemPoolDestroy(pool)

## handle issued again
note: the new one often has the old handle value
pool = cu.pool()
cu.cuMemPoolDestroy(pool)
pool = cu.pool()
cu.cuMemPoolDestroy(pool)

## C++: destroyed on each way out [cuda]
bool run(const cudaMemPoolProps *properties, size_t bytes) {
    cudaMemPool_t pool;
    cudaMemPoolCreate(&pool, properties);
    if (!reserve(pool, bytes)) {
        cudaMemPoolDestroy(pool);
        return false;
    }
    cudaMemPoolDestroy(pool);
    return true;
}
"""
    INVALID = """
## destroyed twice
pool = cu.pool()
cu.cuMemPoolDestroy(pool)
cu.cuMemPoolDestroy(pool)  # error: [pool-destroy-twice]

## destroyed by two threads
pool = cu.pool()
cu.in_thread(lambda: cu.cuMemPoolDestroy(pool))
cu.cuMemPoolDestroy(pool)  # error: [pool-destroy-twice]

## C++: destroyed in a branch and at the end [cuda]
void run(const cudaMemPoolProps *properties, size_t bytes) {
    cudaMemPool_t pool;
    cudaMemPoolCreate(&pool, properties);
    if (!reserve(pool, bytes))
        cudaMemPoolDestroy(pool);
    cudaMemPoolDestroy(pool);  // error: [pool-destroy-twice]
}

## Python: in the block and in finally [python]
from cuda.bindings import driver

def run(properties, work):
    error, pool = driver.cuMemPoolCreate(properties)
    try:
        work(pool)
        error, = driver.cuMemPoolDestroy(pool)
    finally:
        error, = driver.cuMemPoolDestroy(pool)  # error: [pool-destroy-twice]

## C#: in the block and in finally [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run(CUmemPoolProps properties) {
        CUmemoryPool pool = new CUmemoryPool();
        Check(MemoryManagement.cuMemPoolCreate(ref pool, ref properties));
        try {
            Work(pool);
            Check(MemoryManagement.cuMemPoolDestroy(pool));
        } finally {
            Check(MemoryManagement.cuMemPoolDestroy(pool));  // error: [pool-destroy-twice]
        }
    }
}
"""
