#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(c)                                                           \
    do {                                                                   \
        cudaError_t e = (c);                                               \
        if (e) {                                                           \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

extern void train_step(float* d_loss, cudaStream_t stream);

double run_epoch(int steps)
{
    float* d_loss = nullptr;
    float* h_loss = nullptr;
    cudaStream_t stream = nullptr;
    double total = 0.0;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc((void**)&d_loss, sizeof(float)));
    CHECK(cudaMallocHost((void**)&h_loss, sizeof(float)));
    for (int i = 0; i < steps; ++i) {
        train_step(d_loss, stream);
        CHECK(cudaMemcpyAsync(h_loss, d_loss, sizeof(float), cudaMemcpyDeviceToHost, stream));
        total += *h_loss;
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(h_loss));
    CHECK(cudaFree(d_loss));
    CHECK(cudaStreamDestroy(stream));
    return total / steps;
}
