#include <cuda_runtime.h>
#include <cstdio>

__global__ void bitonic_step(float* values, int j, int k)
{
    unsigned int i = threadIdx.x + blockDim.x * blockIdx.x;
    unsigned int ixj = i ^ j;
    if (ixj > i) {
        bool up = (i & k) == 0;
        float a = values[i], b = values[ixj];
        if ((a > b) == up) {
            values[i] = b;
            values[ixj] = a;
        }
    }
}

int bench_sort(float* d_values, int n, float* milliseconds)
{
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    cudaError_t err = cudaEventCreate(&begin);
    if (err != cudaSuccess)
        return -1;
    err = cudaEventCreate(&end);
    if (err != cudaSuccess) {
        cudaEventDestroy(begin);
        return -1;
    }
    err = cudaEventRecord(begin);
    if (err != cudaSuccess)
        goto done;
    for (int k = 2; k <= n; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1)
            bitonic_step<<<n / 256, 256>>>(d_values, j, k);
    err = cudaGetLastError();
    if (err != cudaSuccess) {
        std::fprintf(stderr, "launch: %s\n", cudaGetErrorString(err));
        goto done;
    }
    err = cudaEventRecord(end);
    if (err == cudaSuccess)
        err = cudaEventSynchronize(end);
    if (err == cudaSuccess)
        err = cudaEventElapsedTime(milliseconds, begin, end);
done:
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return err == cudaSuccess ? 0 : -1;
}
