#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define GPUS 2
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void scale(float *v, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        v[i] *= s;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    float *buf[GPUS];
    cudaStream_t stream[GPUS];

    for (int g = 0; g < GPUS; g++) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamCreate(&stream[g]));
        CHECK(cudaMalloc((void **)&buf[g], n * sizeof(float)));
        CHECK(cudaMemsetAsync(buf[g], 0, n * sizeof(float), stream[g]));
    }

    for (int g = 0; g < GPUS; g++) {
        CHECK(cudaSetDevice(g));
        scale<<<(n + 255) / 256, 256, 0, stream[g]>>>(buf[g], 2.0f, n);
        CHECK(cudaGetLastError());
    }

    for (int g = 0; g < GPUS; g++) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamSynchronize(stream[g]));
        CHECK(cudaFree(buf[g]));
        CHECK(cudaStreamDestroy(stream[g]));
    }
    return 0;
}
