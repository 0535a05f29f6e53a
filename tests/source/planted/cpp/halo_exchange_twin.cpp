#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CK(x)                                                             \
    do {                                                                  \
        cudaError_t r = (x);                                              \
        if (r != cudaSuccess) {                                           \
            std::printf("%s: %s\n", #x, cudaGetErrorString(r));           \
            std::exit(1);                                                 \
        }                                                                 \
    } while (0)

void exchange(float* left, const float* right, size_t halo)
{
    cudaStream_t sender = nullptr;
    cudaStream_t receiver = nullptr;
    cudaEvent_t arrived = nullptr;

    CK(cudaSetDevice(0));
    CK(cudaStreamCreate(&sender));

    CK(cudaSetDevice(1));
    CK(cudaStreamCreate(&receiver));
    CK(cudaEventCreateWithFlags(&arrived, cudaEventDisableTiming));

    CK(cudaMemcpyPeerAsync(left, 0, right, 1, halo * sizeof(float), receiver));
    CK(cudaEventRecord(arrived, receiver));

    CK(cudaSetDevice(0));
    CK(cudaStreamWaitEvent(sender, arrived, 0));
    CK(cudaStreamSynchronize(sender));

    CK(cudaEventDestroy(arrived));
    CK(cudaStreamDestroy(sender));
    CK(cudaStreamDestroy(receiver));
}
