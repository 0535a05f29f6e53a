#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(expr)                                                    \
    {                                                                  \
        cudaError_t code = (expr);                                     \
        if (code != cudaSuccess) {                                     \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(code));    \
            std::exit(code);                                           \
        }                                                              \
    }

__global__ void jacobi(const double* in, double* out, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x < nx - 1 && y < ny - 1)
        out[y * nx + x] = 0.25 * (in[y * nx + x - 1] + in[y * nx + x + 1] + in[(y - 1) * nx + x] + in[(y + 1) * nx + x]);
}

void profile(double* a, double* b, int nx, int ny, int sweeps)
{
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    dim3 block(32, 16);
    dim3 grid((nx + 31) / 32, (ny + 15) / 16);
    CHECK(cudaEventRecord(start));
    for (int s = 0; s < sweeps; ++s) {
        jacobi<<<grid, block>>>(a, b, nx, ny);
        double* t = a;
        a = b;
        b = t;
    }
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    float ms = 0.0f;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    std::printf("%d sweeps: %.3f ms\n", sweeps, ms);
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
}
