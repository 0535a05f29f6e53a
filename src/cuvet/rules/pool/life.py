from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.MEMORY_POOL,
    name="pool",
    make="cu.pool()",
    use="cu.cuMemPoolTrimTo({}, 0)",
    another_use="cu.cuMemAllocFromPoolAsync(4096, {}, 0)",
    end="cu.cuMemPoolDestroy({})",
    other="cu.cuStreamCreate(0)",
    cpp=Spelled(
        type="cudaMemPool_t",
        given="const cudaMemPoolProps *properties",
        make="cudaMemPoolCreate(&pool, properties)",
        use="cudaMemPoolTrimTo(pool, 0)",
        end="cudaMemPoolDestroy(pool)",
    ),
    python=Spelled(
        given="properties",
        make="error, pool = driver.cuMemPoolCreate(properties)",
        use="error, = driver.cuMemPoolTrimTo(pool, 0)",
        end="error, = driver.cuMemPoolDestroy(pool)",
    ),
    csharp=Spelled(
        type="CUmemoryPool",
        given="CUmemPoolProps properties",
        make="MemoryManagement.cuMemPoolCreate(ref pool, ref properties)",
        use="MemoryManagement.cuMemPoolTrimTo(pool, 0)",
        end="MemoryManagement.cuMemPoolDestroy(pool)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV451", (1,)),
        Mistake(DESTROYED_TWICE, "CV452", (1,)),
        Mistake(NULL_HANDLE, "CV453", (1,)),
        Mistake(NEVER_CREATED, "CV454", (CRASH, 1, 400), mistaken={Kind.STREAM: (1, 400)}),
    ),
)

TEXTS = """
# pool-use-after-destroy
why: The pool ends with its last allocation. Then calls with it were measured to return CUDA_ERROR_INVALID_VALUE.
measured: allocating from it and trimming it: CUDA_ERROR_INVALID_VALUE (pool_use_after_destroy, pool_trim_after_destroy)
documented: If any pointers obtained from this pool have not been freed when cuMemPoolDestroy is invoked, the function
  returns immediately and the resources are released automatically once there are no more outstanding allocations. (CUDA
  Driver API, Stream Ordered Memory Allocator, cuMemPoolDestroy)

# pool-use-after-destroy: right

## destroyed with an allocation outstanding
note: the pool is released when its last allocation is freed
pool = cu.pool()
memory = cu.cuMemAllocFromPoolAsync(4096, pool, 0)
cu.cuMemPoolDestroy(pool)
cu.cuMemFreeAsync(memory, 0)
cu.cuCtxSynchronize()

# pool-destroy-twice
why: The first call marked the pool for destruction. The second was measured to return CUDA_ERROR_INVALID_VALUE, with
  and without outstanding allocations.
measured: CUDA_ERROR_INVALID_VALUE; the driver logs that the handle is already marked for destruction
  (pool_destroy_twice, pool_destroy_outstanding)

# pool-null-handle
why: A call that takes a pool needs one. `cuMemAllocAsync` takes none and uses the device's current pool.
measured: destroy and trim: CUDA_ERROR_INVALID_VALUE (pool_default_destroy)

# pool-never-created
why: The number is no memory pool.
measured: a number from nowhere, given to cuMemPoolTrimTo: SIGSEGV in the driver (pool_from_nowhere)
measured: cuMemPoolTrimTo of a stream: CUDA_ERROR_INVALID_VALUE (stream_as_pool)
documented: {invalid_handle}

# pool-never-created: right

## C++: a pool behind a pointer to void [c++]
void trim(const cudaMemPoolProps *properties) {
    cudaMemPool_t pool;
    cudaMemPoolCreate(&pool, properties);
    void *handle = pool;
    cudaMemPoolTrimTo((cudaMemPool_t)handle, 0);
    cudaMemPoolDestroy(pool);
}

# pool-never-created: wrong

## C++: a stream behind a pointer to void [c++]
void trim(void) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    void *handle = stream;
    cudaMemPoolTrimTo((cudaMemPool_t)handle, 0);  // error: [pool-never-created]
    cudaStreamDestroy(stream);
}

## C#: handles as IntPtr, in the wrong order [c# class]
[DllImport("cudart64_12")] static extern int cudaStreamCreate(out IntPtr stream);
[DllImport("cudart64_12")] static extern int cudaStreamDestroy(IntPtr stream);
[DllImport("cudart64_12")] static extern int cudaMallocFromPoolAsync(out IntPtr values, ulong size, IntPtr pool, IntPtr stream);

IntPtr Allocate(IntPtr pool, ulong size) {
    Check(cudaStreamCreate(out IntPtr stream));
    Check(cudaMallocFromPoolAsync(out IntPtr values, size, stream, pool));  // error: [pool-never-created]
    Check(cudaStreamDestroy(stream));
    return values;
}
"""
