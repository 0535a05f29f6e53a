from cuvet.rules.registrations import ORDINARY, Case, RegistrationRule


class HostMemoryUnregisterPinned(RegistrationRule):
    """
    checks: Memory of `cuMemHostAlloc` or `cuMemAllocHost` is unregistered.
    why: It was allocated as pinned, not registered. It stays pinned until it is freed.
    instead: Free it with `cuMemFreeHost` (`cudaFreeHost`).
    limits: None.
    """

    code = "CV513"
    in_source = True
    summary = "memory that was allocated as pinned is unregistered"
    help = "free it with cuMemFreeHost (cudaFreeHost)"
    entry_points = frozenset({"cuMemHostUnregister"})
    case = Case.PINNED
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE; the memory can still be freed (unregister_mallochost, register_mallochost,
      seed_correct_example3)
    documented: ends a registration of cuMemHostRegister (CUDA Driver API, Memory Management, cuMemHostUnregister)
    """
    VALID = ORDINARY
    VALID += """
## pinned memory freed
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemFreeHost(pinned)

## C++: freed alone [cuda]
void upload(float *values, size_t bytes) {
    float *staging;
    cudaMallocHost(&staging, bytes);
    read(staging, bytes);
    cudaMemcpy(values, staging, bytes, cudaMemcpyHostToDevice);
    cudaFreeHost(staging);
}
"""
    INVALID = """
## pinned memory
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemHostUnregister(pinned)  # error: [host-memory-unregister-pinned]
cu.cuMemFreeHost(pinned)

## C++: memory of cudaMallocHost [cuda]
void upload(float *values, size_t bytes) {
    float *staging;
    cudaMallocHost(&staging, bytes);
    read(staging, bytes);
    cudaMemcpy(values, staging, bytes, cudaMemcpyHostToDevice);
    cudaHostUnregister(staging);  // error: [host-memory-unregister-pinned]
    cudaFreeHost(staging);
}

## Python: memory of cudaHostAlloc [python cudart]
def staging(size, work):
    error, buffer = cudart.cudaHostAlloc(size, cudart.cudaHostAllocDefault)
    work(buffer)
    error, = cudart.cudaHostUnregister(buffer)  # error: [host-memory-unregister-pinned]
    error, = cudart.cudaFreeHost(buffer)

## C#: memory of cuMemAllocHost [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Staging {
    void Run(int size) {
        IntPtr buffer = IntPtr.Zero;
        Check(MemoryManagement.cuMemAllocHost_v2(ref buffer, size));
        Fill(buffer, size);
        Check(MemoryManagement.cuMemHostUnregister(buffer));  // error: [host-memory-unregister-pinned]
        Check(MemoryManagement.cuMemFreeHost(buffer));
    }
}
"""
