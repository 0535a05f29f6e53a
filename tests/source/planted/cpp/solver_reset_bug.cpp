#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_)); std::exit(1); } } while (0)

extern void relax(float* d_grid, size_t n, int iterations);

std::vector<float> solve(const std::vector<float>& initial, int iterations)
{
    std::vector<float> result(initial.size());
    size_t bytes = initial.size() * sizeof(float);
    float* d_grid = nullptr;
    CK(cudaMalloc((void**)&d_grid, bytes));
    CK(cudaMemcpy(d_grid, initial.data(), bytes, cudaMemcpyHostToDevice));
    relax(d_grid, initial.size(), iterations);
    CK(cudaDeviceSynchronize());
    CK(cudaDeviceReset());
    CK(cudaMemcpy(result.data(), d_grid, bytes, cudaMemcpyDeviceToHost));
    CK(cudaFree(d_grid));
    return result;
}
