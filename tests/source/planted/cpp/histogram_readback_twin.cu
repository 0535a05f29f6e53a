#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CUDA_TRY(x)                                                                   \
    do {                                                                              \
        cudaError_t e = (x);                                                          \
        if (e != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorName(e));         \
            std::abort();                                                             \
        }                                                                             \
    } while (0)

__global__ void histogram(const unsigned char* pixels, int n, unsigned int* bins)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&bins[pixels[i]], 1u);
}

void histogram_of(const unsigned char* d_pixels, int n, unsigned int out[256])
{
    unsigned int* d_bins = nullptr;
    unsigned int* h_bins = nullptr;
    CUDA_TRY(cudaMalloc(&d_bins, 256 * sizeof(unsigned int)));
    CUDA_TRY(cudaMallocHost(&h_bins, 256 * sizeof(unsigned int)));
    CUDA_TRY(cudaMemset(d_bins, 0, 256 * sizeof(unsigned int)));
    histogram<<<120, 256>>>(d_pixels, n, d_bins);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpy(h_bins, d_bins, 256 * sizeof(unsigned int), cudaMemcpyDeviceToHost));
    std::memcpy(out, h_bins, 256 * sizeof(unsigned int));
    CUDA_TRY(cudaFreeHost(h_bins));
    CUDA_TRY(cudaFree(d_bins));
}
