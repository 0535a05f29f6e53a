#include <cuda_runtime.h>
#include <nccl.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_OK(c) do { cudaError_t e = (c); if (e) { \
    printf("cuda %s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
#define NCCL_OK(c) do { ncclResult_t e = (c); if (e != ncclSuccess) { \
    printf("nccl %s line %d\n", ncclGetErrorString(e), __LINE__); exit(1); } } while (0)

struct Rank {
    int dev;
    ncclComm_t comm;
    cudaStream_t stream;
    float *send, *recv;
};

static void run_once(std::vector<Rank>& ranks, size_t count)
{
    for (auto& r : ranks)
        NCCL_OK(ncclAllReduce(r.send, r.recv, count, ncclFloat, ncclSum, r.comm, r.stream));
}

static void wait_all(std::vector<Rank>& ranks)
{
    for (auto& r : ranks) {
        CUDA_OK(cudaSetDevice(r.dev));
        CUDA_OK(cudaStreamSynchronize(r.stream));
    }
}

int main(int argc, char** argv)
{
    int ndev = 0;
    CUDA_OK(cudaGetDeviceCount(&ndev));
    if (argc > 1 && atoi(argv[1]) < ndev) ndev = atoi(argv[1]);
    if (ndev < 1) return 1;
    const size_t max_count = size_t(64) << 20;

    std::vector<int> devs(ndev);
    std::vector<ncclComm_t> comms(ndev);
    for (int i = 0; i < ndev; ++i) devs[i] = i;
    NCCL_OK(ncclCommInitAll(comms.data(), ndev, devs.data()));

    std::vector<Rank> ranks(ndev);
    for (int i = 0; i < ndev; ++i) {
        Rank& r = ranks[i];
        r.dev = i;
        r.comm = comms[i];
        CUDA_OK(cudaSetDevice(i));
        CUDA_OK(cudaStreamCreate(&r.stream));
        CUDA_OK(cudaMalloc(&r.send, max_count * sizeof(float)));
        CUDA_OK(cudaMalloc(&r.recv, max_count * sizeof(float)));
        CUDA_OK(cudaMemsetAsync(r.send, 0, max_count * sizeof(float), r.stream));
    }
    wait_all(ranks);

    printf("%12s %10s\n", "bytes", "GB/s");
    for (size_t count = 1024; count <= max_count; count *= 4) {
        for (int i = 0; i < 5; ++i) run_once(ranks, count);
        wait_all(ranks);
        const int iters = 20;
        auto t0 = std::chrono::steady_clock::now();
        for (int i = 0; i < iters; ++i) run_once(ranks, count);
        wait_all(ranks);
        std::chrono::duration<double> dt = std::chrono::steady_clock::now() - t0;
        double bytes = double(count) * sizeof(float);
        printf("%12.0f %10.2f\n", bytes, bytes * iters / dt.count() / 1e9);
    }

    for (auto& r : ranks) {
        CUDA_OK(cudaSetDevice(r.dev));
        NCCL_OK(ncclCommDestroy(r.comm));
        CUDA_OK(cudaFree(r.send));
        CUDA_OK(cudaFree(r.recv));
        CUDA_OK(cudaStreamDestroy(r.stream));
    }
    return 0;
}
