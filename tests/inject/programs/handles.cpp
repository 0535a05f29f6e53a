// Deals with every error: reports it, tries again, takes another way, or goes without.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

static int failed(const char *what, cudaError_t status) {
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(status));
    return 1;
}

static void *buffer(size_t bytes, bool *pinned) {
    void *memory = nullptr;
    *pinned = cudaHostAlloc(&memory, bytes, 0) == cudaSuccess;
    if (*pinned) return memory;
    cudaGetLastError();
    return calloc(1, bytes);
}

static cudaError_t allocate(void **memory, size_t bytes) {
    cudaError_t status = cudaErrorMemoryAllocation;
    for (int tries = 0; tries < 3 && status == cudaErrorMemoryAllocation; tries++) status = cudaMalloc(memory, bytes);
    return status;
}

int main() {
    bool pinned = false;
    void *host = buffer(4096, &pinned), *memory = nullptr;
    int code = 0;
    cudaError_t status = allocate(&memory, 4096);
    if (status != cudaSuccess) {
        code = failed("cudaMalloc", status);
    } else {
        status = cudaMemcpy(memory, host, 4096, cudaMemcpyHostToDevice);
        if (status != cudaSuccess) code = failed("cudaMemcpy", status);
        status = cudaDeviceSynchronize();
        if (status != cudaSuccess && !code) code = failed("cudaDeviceSynchronize", status);
        status = cudaFree(memory);
        if (status != cudaSuccess && !code) code = failed("cudaFree", status);
    }
    if (pinned) {
        status = cudaFreeHost(host);
        if (status != cudaSuccess && !code) code = failed("cudaFreeHost", status);
    } else {
        free(host);
    }
    if (!code) puts("done");
    return code;
}
