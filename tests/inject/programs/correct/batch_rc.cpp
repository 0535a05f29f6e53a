// Batch job: each item prints its status code; partial failure is no failure of the batch (exit 0 if any worked).
#include <cuda_runtime_api.h>

#include <cstdio>
#include <vector>
int main() {
    void* d = nullptr;
    std::vector<char> host(4096);
    cudaError_t s = cudaMalloc(&d, 4096);
    if (s) {
        fprintf(stderr, "cudaMalloc: %s\n", cudaGetErrorString(s));
        return 2;
    }
    int good = 0;
    for (int i = 0; i < 4; ++i) {
        s = cudaMemcpy(d, host.data(), 4096, cudaMemcpyHostToDevice);
        if (!s) s = cudaMemset(d, i, 4096);
        if (!s) s = cudaMemcpy(host.data(), d, 4096, cudaMemcpyDeviceToHost);
        printf("item=%d rc=%d\n", i, (int)s);
        if (!s) ++good;
    }
    printf("completed %d/4\n", good);
    if ((s = cudaFree(d))) {
        fprintf(stderr, "cudaFree: %s\n", cudaGetErrorString(s));
        return 2;
    }
    return good ? 0 : 1;
}
