// Deals with errors in ways that are worse than none.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

int main() {
    void *memory = nullptr;
    while (cudaMalloc(&memory, 64) != cudaSuccess) pause();  // hangs
    char *host = nullptr;
    cudaHostAlloc((void **)&host, 64, 0);
    *(volatile char *)host = 1;  // dies
    const cudaError_t status = cudaMemcpy(memory, host, 64, cudaMemcpyHostToDevice);
    if (status != cudaSuccess) {
        fprintf(stderr, "cudaFree: %s\n", cudaGetErrorString(status));  // blames another
        cudaFree(memory);
        cudaFreeHost(host);
        return 1;
    }
    if (cudaFreeHost(host) != cudaSuccess) {
        cudaFreeHost(host);  // the first may have freed it
        cudaFree(memory);
        return 1;
    }
    if (cudaFree(memory) != cudaSuccess) return 1;
    puts("done");
    return 0;
}
