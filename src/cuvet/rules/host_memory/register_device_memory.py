from cuvet.rules.registrations import ORDINARY, Case, RegistrationRule


class HostMemoryRegisterDeviceMemory(RegistrationRule):
    """
    checks: Device memory or managed memory is given to a host registration.
    why: Only memory of the host can be registered. The driver refuses a range that CUDA allocated.
    instead: Use device and managed memory without registration.
    limits: Memory of libraries that were not watched is not recognised.
    """

    code = "CV505"
    in_source = True
    summary = "device or managed memory is registered as host memory"
    help = "register host memory; device and managed memory need no registration"
    case = Case.DEVICE
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (register_device_pointer, register_managed)
    documented: registers an existing host memory range (CUDA Driver API, Memory Management, cuMemHostRegister)
    """
    VALID = ORDINARY
    VALID += """
## host buffer beside managed memory
managed = cu.cuMemAllocManaged(4096, 1)
buffer = cu.host(4096)
cu.cuMemHostRegister(buffer, 4096, 0)
cu.cuMemHostUnregister(buffer)
cu.cuMemFree(managed)

## C++: host memory beside it [cuda]
void run(float *host, size_t bytes) {
    float *values;
    cudaMalloc(&values, bytes);
    cudaHostRegister(host, bytes, cudaHostRegisterDefault);
    cudaMemcpy(values, host, bytes, cudaMemcpyHostToDevice);
    cudaHostUnregister(host);
    cudaFree(values);
}
"""
    INVALID = """
## device memory
memory = cu.cuMemAlloc(1 << 20)
cu.cuMemHostRegister(memory, 4096, 0)  # error: [host-memory-register-device-memory]
cu.cuMemFree(memory)

## managed memory
managed = cu.cuMemAllocManaged(4096, 1)
cu.cuMemHostRegister(managed, 4096, 0)  # error: [host-memory-register-device-memory]
cu.cuMemFree(managed)

## C++: memory of cudaMalloc [cuda]
void run(size_t bytes) {
    float *values;
    cudaMalloc(&values, bytes);
    cudaHostRegister(values, bytes, cudaHostRegisterMapped);  // error: [host-memory-register-device-memory]
    work<<<1, 256>>>(values);
    cudaFree(values);
}

## C++: managed memory [cuda]
void run(size_t bytes) {
    float *values;
    cudaMallocManaged(&values, bytes);
    cudaHostRegister(values, bytes, cudaHostRegisterDefault);  // error: [host-memory-register-device-memory]
    work<<<1, 256>>>(values);
    cudaFree(values);
}

## Python: memory of cudaMalloc [python cudart]
def run(size, work):
    error, values = cudart.cudaMalloc(size)
    error, = cudart.cudaHostRegister(values, size, 0)  # error: [host-memory-register-device-memory]
    work(values)
    error, = cudart.cudaFree(values)

## C#: memory of cudaMalloc [c#]
class Staging {
    [DllImport("cudart64_12")] static extern int cudaMalloc(out IntPtr values, ulong bytes);
    [DllImport("cudart64_12")] static extern int cudaFree(IntPtr values);
    [DllImport("cudart64_12")] static extern int cudaHostRegister(IntPtr buffer, ulong bytes, uint flags);

    void Run(ulong bytes) {
        Check(cudaMalloc(out IntPtr values, bytes));
        Check(cudaHostRegister(values, bytes, 0));  // error: [host-memory-register-device-memory]
        Work(values);
        Check(cudaFree(values));
    }
}
"""
