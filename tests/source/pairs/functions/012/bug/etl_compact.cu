#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace etl {

[[noreturn]] static void fatal(const char* file, int line, cudaError_t e) {
    std::fprintf(stderr, "%s:%d cuda error %d (%s)\n", file, line, int(e), cudaGetErrorString(e));
    std::exit(EXIT_FAILURE);
}
#define ETL_CUDA(x) do { cudaError_t r__ = (x); if (r__ != cudaSuccess) fatal(__FILE__, __LINE__, r__); } while (0)

struct Chunk {
    uint64_t* host;
    uint64_t* dev;
    size_t rows;
};

static void dispose(Chunk* c) {
    ETL_CUDA(cudaFree(c->dev));
    ETL_CUDA(cudaFreeHost(c->host));
    delete c;
}

static void CUDART_CB on_chunk_done(void* user) {
    dispose(static_cast<Chunk*>(user));
}

__global__ void hash_keys(uint64_t* k, size_t n) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    uint64_t x = k[i];
    x ^= x >> 33; x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ULL;
    k[i] = x ^ (x >> 33);
}

__global__ void histogram(const uint64_t* k, size_t n, unsigned long long* bins) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) atomicAdd(&bins[k[i] & 1023], 1ULL);
}

std::vector<unsigned long long> key_histogram(FILE* in, size_t rows_per_chunk) {
    cudaStream_t s;
    unsigned long long* bins;
    std::vector<unsigned long long> result(1024);

    ETL_CUDA(cudaStreamCreate(&s));
    ETL_CUDA(cudaMalloc(&bins, result.size() * sizeof(result[0])));
    ETL_CUDA(cudaMemsetAsync(bins, 0, result.size() * sizeof(result[0]), s));

    for (;;) {
        Chunk* c = new Chunk{};
        ETL_CUDA(cudaMallocHost(&c->host, rows_per_chunk * sizeof(uint64_t)));
        ETL_CUDA(cudaMalloc(&c->dev, rows_per_chunk * sizeof(uint64_t)));
        c->rows = fread(c->host, sizeof(uint64_t), rows_per_chunk, in);
        if (c->rows == 0) {
            dispose(c);
            break;
        }
        unsigned blocks = unsigned((c->rows + 255) / 256);
        ETL_CUDA(cudaMemcpyAsync(c->dev, c->host, c->rows * sizeof(uint64_t),
                                 cudaMemcpyHostToDevice, s));
        hash_keys<<<blocks, 256, 0, s>>>(c->dev, c->rows);
        histogram<<<blocks, 256, 0, s>>>(c->dev, c->rows, bins);
        ETL_CUDA(cudaGetLastError());
        ETL_CUDA(cudaLaunchHostFunc(s, on_chunk_done, c));
    }

    ETL_CUDA(cudaMemcpyAsync(result.data(), bins, result.size() * sizeof(result[0]),
                             cudaMemcpyDeviceToHost, s));
    ETL_CUDA(cudaStreamSynchronize(s));
    ETL_CUDA(cudaFree(bins));
    ETL_CUDA(cudaStreamDestroy(s));
    return result;
}

}  // namespace etl

int main() {
    auto h = etl::key_histogram(stdin, 1 << 20);
    for (size_t i = 0; i < h.size(); ++i) std::printf("%zu %llu\n", i, h[i]);
    return 0;
}
