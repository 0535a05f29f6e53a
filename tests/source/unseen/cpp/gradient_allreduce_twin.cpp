#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CUDACHECK(cmd) do {                                   \
    cudaError_t e = cmd;                                      \
    if (e != cudaSuccess) {                                   \
        printf("CUDA %s:%d '%s'\n", __FILE__, __LINE__,       \
               cudaGetErrorString(e));                        \
        exit(EXIT_FAILURE);                                   \
    }                                                         \
} while (0)

#define NCCLCHECK(cmd) do {                                   \
    ncclResult_t r = cmd;                                     \
    if (r != ncclSuccess) {                                   \
        printf("NCCL %s:%d '%s'\n", __FILE__, __LINE__,       \
               ncclGetErrorString(r));                        \
        exit(EXIT_FAILURE);                                   \
    }                                                         \
} while (0)

struct Replica {
    float* grads = nullptr;
    cudaStream_t stream = nullptr;
};

int main() {
    int devices = 0;
    CUDACHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) return 0;

    const size_t params = 8u << 20;
    std::vector<int> ids(devices);
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<ncclComm_t> comms(devices);
    std::vector<Replica> replicas(devices);

    for (int d = 0; d < devices; ++d) {
        CUDACHECK(cudaSetDevice(d));
        CUDACHECK(cudaMalloc((void**)&replicas[d].grads, params * sizeof(float)));
        CUDACHECK(cudaStreamCreate(&replicas[d].stream));
        CUDACHECK(cudaMemsetAsync(replicas[d].grads, 0, params * sizeof(float), replicas[d].stream));
    }
    NCCLCHECK(ncclCommInitAll(comms.data(), devices, ids.data()));

    for (int epoch = 0; epoch < 10; ++epoch) {
        NCCLCHECK(ncclGroupStart());
        for (int d = 0; d < devices; ++d) {
            Replica& r = replicas[d];
            NCCLCHECK(ncclAllReduce(r.grads, r.grads, params, ncclFloat, ncclSum,
                                    comms[d], r.stream));
        }
        NCCLCHECK(ncclGroupEnd());
        for (int d = 0; d < devices; ++d) {
            CUDACHECK(cudaSetDevice(d));
            CUDACHECK(cudaStreamSynchronize(replicas[d].stream));
        }
    }

    for (int d = 0; d < devices; ++d) {
        CUDACHECK(cudaSetDevice(d));
        NCCLCHECK(ncclCommDestroy(comms[d]));
        CUDACHECK(cudaFree(replicas[d].grads));
        CUDACHECK(cudaStreamDestroy(replicas[d].stream));
    }
    return 0;
}
