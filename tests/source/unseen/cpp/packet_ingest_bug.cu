#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

static void die(cudaError_t e, const char* where) {
    std::fprintf(stderr, "[ingest] %s: %s\n", where, cudaGetErrorString(e));
    std::exit(EXIT_FAILURE);
}
#define TRY(x) do { cudaError_t rc = (x); if (rc != cudaSuccess) die(rc, #x); } while (0)

__global__ void hashPackets(std::uint32_t* scratch, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scratch[i] = (i * 2654435761u) ^ (i >> 7);
}

__global__ void bucketCount(const std::uint32_t* scratch, int n, unsigned* buckets) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&buckets[scratch[i] & 255u], 1u);
}

int main() {
    constexpr int kPackets = 1 << 18;
    cudaStream_t ingest, reaper;
    TRY(cudaStreamCreateWithFlags(&ingest, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&reaper, cudaStreamNonBlocking));
    cudaEvent_t counted;
    TRY(cudaEventCreateWithFlags(&counted, cudaEventDisableTiming));

    unsigned* buckets = nullptr;
    TRY(cudaMalloc(&buckets, 256 * sizeof(unsigned)));
    TRY(cudaMemsetAsync(buckets, 0, 256 * sizeof(unsigned), ingest));

    for (int batch = 0; batch < 32; ++batch) {
        std::uint32_t* scratch = nullptr;
        TRY(cudaMallocAsync(reinterpret_cast<void**>(&scratch),
                            kPackets * sizeof(std::uint32_t), ingest));
        hashPackets<<<(kPackets + 255) / 256, 256, 0, ingest>>>(scratch, kPackets);
        TRY(cudaGetLastError());
        bucketCount<<<64, 256, 0, ingest>>>(scratch, kPackets, buckets);
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(counted, ingest));
        TRY(cudaFreeAsync(scratch, reaper));
    }
    TRY(cudaEventSynchronize(counted));

    unsigned host[256];
    TRY(cudaMemcpyAsync(host, buckets, sizeof(host), cudaMemcpyDeviceToHost, ingest));
    TRY(cudaStreamSynchronize(ingest));
    TRY(cudaStreamSynchronize(reaper));
    std::printf("bucket 0: %u\n", host[0]);

    TRY(cudaFree(buckets));
    TRY(cudaEventDestroy(counted));
    TRY(cudaStreamDestroy(reaper));
    TRY(cudaStreamDestroy(ingest));
    return 0;
}
