from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated
from cuvet.rules.rule import CRASH


class PoolNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a memory pool is given a number that no call handed out as one, and the call fails or
    crashes.

    ## Why it is wrong
    The number names no memory pool; what was not made by CUDA cannot be used.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the memory pool, and
    pass handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV454"
    name = "pool-never-created"
    severity = "error"
    summary = "a memory pool is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the memory pool"
    kind = Kind.MEMORY_POOL
    outcomes = (CRASH, 1, 400)
    evidence = """
    measured: a number from nowhere, given to cuMemPoolTrimTo: SIGSEGV in the driver (pool_from_nowhere)
    documented: This indicates that a resource handle passed to the API call was not valid. Resource handles are opaque
      types like CUstream and CUevent. (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)
    """
    VALID = """
## created first
pool = cu.pool()
cu.cuMemPoolTrimTo(pool, 0)
cu.cuMemPoolDestroy(pool)

## created by another thread
pool = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.pool())[1])
cu.cuMemPoolTrimTo(pool, 0)
cu.cuMemPoolDestroy(pool)

## C++: a pool behind a pointer to void [c++]
void trim(const cudaMemPoolProps *properties) {
    cudaMemPool_t pool;
    cudaMemPoolCreate(&pool, properties);
    void *handle = pool;
    cudaMemPoolTrimTo((cudaMemPool_t)handle, 0);
    cudaMemPoolDestroy(pool);
}
"""
    INVALID = """
## a number from nowhere
cu.cuMemPoolTrimTo(0x1234567000, 0)  # error: [pool-never-created]

## an object of another kind
other = cu.cuStreamCreate(0)
cu.cuMemPoolTrimTo(other, 0)  # error: [pool-never-created]

## C++: a stream behind a pointer to void [c++]
void trim(void) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    void *handle = stream;
    cudaMemPoolTrimTo((cudaMemPool_t)handle, 0);  // error: [pool-never-created]
    cudaStreamDestroy(stream);
}

## C#: handles as IntPtr, in the wrong order [c#]
class Worker {
    [DllImport("cudart64_12")] static extern int cudaStreamCreate(out IntPtr stream);
    [DllImport("cudart64_12")] static extern int cudaStreamDestroy(IntPtr stream);
    [DllImport("cudart64_12")] static extern int cudaMallocFromPoolAsync(out IntPtr values, ulong size, IntPtr pool, IntPtr stream);

    IntPtr Allocate(IntPtr pool, ulong size) {
        Check(cudaStreamCreate(out IntPtr stream));
        Check(cudaMallocFromPoolAsync(out IntPtr values, size, stream, pool));  // error: [pool-never-created]
        Check(cudaStreamDestroy(stream));
        return values;
    }
}
"""
