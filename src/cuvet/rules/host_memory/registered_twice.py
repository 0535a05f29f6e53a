from cuvet.rules.registrations import Case, RegistrationRule


class HostMemoryRegisteredTwice(RegistrationRule):
    """
    checks: A range is registered that overlaps a registered one. Often the buffer was freed but not unregistered.
    why: A registration lasts until it is ended, even if the memory is freed or unmapped. The driver refuses ranges that overlap.
    instead: Let one owner register a buffer, and unregister it before the buffer is freed. Ranges that only touch may both be registered.
    limits: Frees of ordinary memory are not CUDA calls, so that a free of the earlier buffer is not seen.
    """

    code = "CV504"
    in_source = True
    summary = "host memory is registered while it is registered already"
    help = "register each range once, and unregister it before it is freed"
    case = Case.REGISTERED
    evidence = """
    measured: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, also for partial overlap (register_twice, register_overlap)
    measured: also when the memory was unmapped and mapped again in between (register_freed_then_again)
    documented: the range is already registered (CUDA Driver API, Data types, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    """
    VALID = """
## again after being unregistered
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)

## neighbouring ranges
note: ranges that touch do not overlap
buffer = cu.host(3 << 16)
cu.cuMemHostRegister(buffer, 1 << 16, 0)
cu.cuMemHostRegister(buffer + (1 << 16), 1 << 16, 0)
cu.cuMemHostUnregister(buffer)
cu.cuMemHostUnregister(buffer + (1 << 16))

## C++: one buffer after the other [cuda]
void upload(float *host, size_t bytes, int buffers) {
    for (int i = 0; i < buffers; ++i) {
        cudaHostRegister(host, bytes, cudaHostRegisterDefault);
        host += bytes / sizeof(float);
    }
}
"""
    INVALID = """
## same range
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostRegister(buffer, 4096, 0)  # error: [host-memory-registered-twice]
cu.cuMemHostUnregister(buffer)

## overlapping range
buffer = cu.host(1 << 20)
cu.cuMemHostRegister(buffer, 1 << 16, 0)
cu.cuMemHostRegister(buffer + (1 << 15), 1 << 16, 0)  # error: [host-memory-registered-twice]
cu.cuMemHostUnregister(buffer)

## C++: before the loop and in it [cuda]
void upload(float *values, float *host, size_t bytes, int rounds) {
    cudaHostRegister(host, bytes, cudaHostRegisterDefault);
    for (int i = 0; i < rounds; ++i) {
        cudaHostRegister(host, bytes, cudaHostRegisterDefault);  // error: [host-memory-registered-twice]
        cudaMemcpy(values, host, bytes, cudaMemcpyHostToDevice);
    }
    cudaHostUnregister(host);
}

## Python: registered for each of two copies [python cudart]
def upload(buffer, size, copy):
    error, = cudart.cudaHostRegister(buffer, size, 0)
    copy(buffer)
    error, = cudart.cudaHostRegister(buffer, size, 0)  # error: [host-memory-registered-twice]
    copy(buffer)
    error, = cudart.cudaHostUnregister(buffer)

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Staging {
    void Upload(IntPtr buffer, int size) {
        Check(MemoryManagement.cuMemHostRegister(buffer, size, CUMemHostRegisterFlags.None));
        Copy(buffer);
        Check(MemoryManagement.cuMemHostRegister(buffer, size, CUMemHostRegisterFlags.None));  // error: [host-memory-registered-twice]
        Copy(buffer);
        Check(MemoryManagement.cuMemHostUnregister(buffer));
    }
}
"""
