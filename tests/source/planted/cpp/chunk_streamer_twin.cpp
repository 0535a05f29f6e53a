#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define OK(x) do { if ((x) != cudaSuccess) { std::perror(#x); std::exit(1); } } while (0)

extern void consume(const float* d_chunk, size_t n, cudaStream_t stream);

void stream_chunks(const float* source, size_t total, size_t chunk)
{
    float* staging = nullptr;
    float* d_chunk = nullptr;
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaHostAlloc((void**)&staging, chunk * sizeof(float), cudaHostAllocDefault));
    OK(cudaMalloc((void**)&d_chunk, chunk * sizeof(float)));

    for (size_t at = 0; at < total; at += chunk) {
        size_t n = total - at < chunk ? total - at : chunk;
        OK(cudaStreamSynchronize(stream));
        std::memcpy(staging, source + at, n * sizeof(float));
        OK(cudaMemcpyAsync(d_chunk, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream));
        consume(d_chunk, n, stream);
    }

    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(d_chunk));
    OK(cudaFreeHost(staging));
    OK(cudaStreamDestroy(stream));
}
