from cuvet.rules.registrations import ORDINARY, Case, RegistrationRule


class HostMemoryRegisterPinned(RegistrationRule):
    """
    checks: Memory of `cuMemHostAlloc` or `cuMemAllocHost` (`cudaMallocHost`, `cudaHostAlloc`), or a part of it, is registered.
    why: Such memory is page-locked and mapped from the start. Registering it fails; so does unregistering it.
    instead: Use the memory as it is. Register only memory that CUDA did not allocate.
    limits: Pinned memory of libraries that were not watched is not recognised.
    """

    code = "CV503"
    in_source = True
    summary = "pinned memory is registered"
    help = "leave the registration out: the memory is pinned already"
    case = Case.PINNED
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE; the memory stays usable (register_mallochost, seed_correct_example3,
      register_inside_mallochost)
    documented: registers existing host memory, and tracks it like memory of cuMemHostAlloc (CUDA Driver API, Memory
      Management, cuMemHostRegister)
    """
    VALID = ORDINARY
    VALID += """
## pinned memory without registration
pinned = cu.cuMemHostAlloc(4096, 0)
memory = cu.cuMemAlloc(4096)
cu.cuMemcpyHtoDAsync(memory, pinned, 4096, 0)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)
cu.cuMemFreeHost(pinned)

## C++: memory of the heap [cuda]
void upload(float *values, size_t bytes, cudaStream_t stream) {
    float *staging = (float *)malloc(bytes);
    cudaHostRegister(staging, bytes, cudaHostRegisterDefault);
    read(staging, bytes);
    cudaMemcpyAsync(values, staging, bytes, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    cudaHostUnregister(staging);
    free(staging);
}
"""
    INVALID = """
## whole allocation
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemHostRegister(pinned, 4096, 1)  # error: [host-memory-register-pinned]
cu.cuMemFreeHost(pinned)

## part of an allocation
pinned = cu.cuMemHostAlloc(1 << 20, 0)
cu.cuMemHostRegister(pinned + 4096, 4096, 0)  # error: [host-memory-register-pinned]
cu.cuMemFreeHost(pinned)

## C++: memory of cudaMallocHost [cuda]
void upload(float *values, size_t bytes, cudaStream_t stream) {
    float *staging;
    cudaMallocHost(&staging, bytes);
    cudaHostRegister(staging, bytes, cudaHostRegisterDefault);  // error: [host-memory-register-pinned]
    read(staging, bytes);
    cudaMemcpyAsync(values, staging, bytes, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    cudaFreeHost(staging);
}

## Python: memory of cudaHostAlloc [python cudart]
def staging(size, work):
    error, buffer = cudart.cudaHostAlloc(size, cudart.cudaHostAllocDefault)
    error, = cudart.cudaHostRegister(buffer, size, cudart.cudaHostRegisterMapped)  # error: [host-memory-register-pinned]
    work(buffer)
    error, = cudart.cudaFreeHost(buffer)

## C#: memory of cuMemAllocHost [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Staging {
    void Run(int size) {
        IntPtr buffer = IntPtr.Zero;
        Check(MemoryManagement.cuMemAllocHost_v2(ref buffer, size));
        Check(MemoryManagement.cuMemHostRegister(buffer, size, CUMemHostRegisterFlags.Portable));  // error: [host-memory-register-pinned]
        Fill(buffer, size);
        Check(MemoryManagement.cuMemFreeHost(buffer));
    }
}
"""
