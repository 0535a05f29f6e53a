from cuvet.rules.rule import SourceRule


class SourceDevicePointerUnregistered(SourceRule):
    """
    checks: The pointer from ``cudaHostGetDevicePointer`` is unregistered or freed instead of the host's pointer to the same memory.
    why: Only the host's pointer unregisters or frees host memory. If the device's pointer differs, the memory stays pinned.
    instead: Call ``cudaHostUnregister`` or ``cudaFreeHost`` with the pointer that was registered or allocated.
    limits: Only local variables that nothing else sets.
    """

    code = "CV898"
    severity = "warning"
    summary = "the device's pointer to host memory is unregistered or freed"
    help = "pass the host's pointer"
    evidence = """
    documented: the base address must be the same one specified to cudaHostRegister (CUDA Runtime API, Memory
      Management, cudaHostUnregister)
    reported: NCCL's tests unregistered the device's pointer of a buffer
      (https://github.com/NVIDIA/nccl/commit/680a35c6b76bb73ce1161f6ddaa02a8e3df96221)
    """
    VALID = """
## the host's pointer [cuda]
void add(float *host, int n) {
    float *device;
    CHECK(cudaHostRegister(host, n * sizeof(float), cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer((void **)&device, host, 0));
    add_one<<<1, n>>>(device);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostUnregister(host));
}

## a variable that other memory can be in [cuda]
void add(float *host, int n, bool mapped) {
    float *device;
    if (mapped)
        CHECK(cudaHostGetDevicePointer((void **)&device, host, 0));
    else
        CHECK(cudaMalloc((void **)&device, n * sizeof(float)));
    add_one<<<1, n>>>(device);
    CHECK(cudaGetLastError());
    if (!mapped)
        CHECK(cudaFree(device));
}
"""
    INVALID = """
## unregistered [cuda]
void add(float *host, int n) {
    float *device;
    CHECK(cudaHostRegister(host, n * sizeof(float), cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer((void **)&device, host, 0));
    add_one<<<1, n>>>(device);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostUnregister((void *)device));  // warning: [source-device-pointer-unregistered]
}

## freed [cuda]
void add(int n) {
    float *host, *device;
    CHECK(cudaHostAlloc((void **)&host, n * sizeof(float), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&device, host, 0));
    add_one<<<1, n>>>(device);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(device));  // warning: [source-device-pointer-unregistered]
    CHECK(cudaFreeHost(host));
}
"""
