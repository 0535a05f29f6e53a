// Frees all by cudaDeviceReset at the end, which is checked.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#define CHECK(x)                                                                                \
    do {                                                                                        \
        cudaError_t s_ = (x);                                                                   \
        if (s_) {                                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(s_)); \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)
int main() {
    void* d;
    cudaStream_t st;
    cudaEvent_t e;
    char h[64] = {};
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&d, 64));
    CHECK(cudaStreamCreate(&st));
    CHECK(cudaEventCreate(&e));
    CHECK(cudaMemcpyAsync(d, h, 64, cudaMemcpyHostToDevice, st));
    CHECK(cudaEventRecord(e, st));
    CHECK(cudaEventSynchronize(e));
    cudaError_t s = cudaDeviceReset();
    if (s) {
        fprintf(stderr, "cudaDeviceReset: %s\n", cudaGetErrorString(s));
        return 1;
    }
    puts("done");
    return 0;
}
