#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CHECK(x) if (cudaError_t e_ = (x)) { std::fprintf(stderr, "%s\n", cudaGetErrorString(e_)); std::exit(1); }

__global__ void block_scan(const int* in, int* out, int n)
{
    __shared__ int tmp[512];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    tmp[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int v = t >= d ? tmp[t - d] : 0;
        __syncthreads();
        tmp[t] += v;
        __syncthreads();
    }
    if (i < n)
        out[i] = tmp[t];
}

int main()
{
    const int n = 512;
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 1);
    int *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, n * sizeof(int)));
    CHECK(cudaMalloc(&d_out, n * sizeof(int)));
    CHECK(cudaMemcpy(d_in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    block_scan<<<1, n>>>(d_in, d_out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(values.data(), d_out, n, cudaMemcpyDeviceToHost));
    std::printf("%d\n", values[n - 1]);
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return 0;
}
