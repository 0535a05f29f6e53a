from cuvet.rules.registrations import ORDINARY, Case, RegistrationRule


class HostMemoryUnregisteredTwice(RegistrationRule):
    """
    checks: A range is unregistered a second time.
    why: The registration ended with the first call.
    instead: Let one owner unregister each buffer.
    limits: If the address was registered again in between, the call is valid.
    """

    code = "CV511"
    in_source = True
    summary = "host memory is unregistered a second time"
    help = "unregister it once"
    entry_points = frozenset({"cuMemHostUnregister"})
    case = Case.UNREGISTERED
    evidence = """
    measured: CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED (register_twice, unregister_size_zero_after_zero)
    documented: the pointer is in no registered range (CUDA Driver API, Data types,
      CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
    """
    VALID = ORDINARY
    VALID += """
## registered again in between
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)

## C++: registered again [cuda]
void upload(float *host, size_t bytes) {
    cudaHostRegister(host, bytes, cudaHostRegisterDefault);
    copy(host, bytes);
    cudaHostUnregister(host);
    cudaHostRegister(host, bytes, cudaHostRegisterMapped);
    copy(host, bytes);
    cudaHostUnregister(host);
}

## Python: in finally alone [python cudart]
def upload(buffer, size, copy):
    error, = cudart.cudaHostRegister(buffer, size, 0)
    try:
        copy(buffer)
    finally:
        error, = cudart.cudaHostUnregister(buffer)
"""
    INVALID = """
## twice
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
cu.cuMemHostUnregister(buffer)  # error: [host-memory-unregistered-twice]

## C++: in a branch and at the end [cuda]
void upload(float *host, size_t bytes, bool once) {
    cudaHostRegister(host, bytes, cudaHostRegisterDefault);
    copy(host, bytes);
    if (once)
        cudaHostUnregister(host);
    cudaHostUnregister(host);  // error: [host-memory-unregistered-twice]
}

## Python: in the block and in finally [python cudart]
def upload(buffer, size, copy):
    error, = cudart.cudaHostRegister(buffer, size, 0)
    try:
        copy(buffer)
        error, = cudart.cudaHostUnregister(buffer)
    finally:
        error, = cudart.cudaHostUnregister(buffer)  # error: [host-memory-unregistered-twice]

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Staging {
    void Run(IntPtr buffer, int size) {
        Check(MemoryManagement.cuMemHostRegister(buffer, size, CUMemHostRegisterFlags.None));
        Copy(buffer);
        Check(MemoryManagement.cuMemHostUnregister(buffer));
        Check(MemoryManagement.cuMemHostUnregister(buffer));  // error: [host-memory-unregistered-twice]
    }
}
"""
