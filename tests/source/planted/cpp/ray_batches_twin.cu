#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(x) do { cudaError_t r_ = (x); if (r_ != cudaSuccess) { std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(r_)); std::exit(1); } } while (0)

__global__ void generate(float4* rays, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) rays[i] = make_float4(i, 0, 0, 1); }
__global__ void trace(const float4* rays, float* depth, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) depth[i] = rays[i].x; }

void render(float* depth, int n, int batches)
{
    cudaStream_t compute, memory;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&memory, cudaStreamNonBlocking));
    for (int b = 0; b < batches; ++b) {
        float4* rays = nullptr;
        CHECK(cudaMallocAsync((void**)&rays, n * sizeof(float4), compute));
        generate<<<(n + 127) / 128, 128, 0, compute>>>(rays, n);
        trace<<<(n + 127) / 128, 128, 0, compute>>>(rays, depth + b * n, n);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(rays, compute));
    }
    CHECK(cudaStreamSynchronize(compute));
    CHECK(cudaStreamSynchronize(memory));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(memory));
}
