// Analyser process; started by the supervisor with stdin/stdout joined to a feed.
#include <cuda_runtime.h>
#include <cstdio>
#include <unistd.h>
#include "feed_wire.h"

__global__ void sum_px(const float* px, int n, double* out) {
    __shared__ double part[256];
    double s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += px[i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = part[0];
}

static bool mean_of(const float* px, int n, double* d_sum, double* mean) {
    double s = 0;
    sum_px<<<1, 256>>>(px, n, d_sum);
    if (cudaGetLastError() != cudaSuccess) return false;
    if (cudaMemcpy(&s, d_sum, sizeof s, cudaMemcpyDeviceToHost) != cudaSuccess) return false;
    *mean = s / n;
    return true;
}

int main() {
    double* d_sum = nullptr;
    float* px = nullptr;
    int rc = 0;

    if (cudaSetDevice(0) != cudaSuccess) return 1;
    if (cudaMalloc(&d_sum, sizeof(double)) != cudaSuccess) return 1;

    FeedHello msg;
    while (read(STDIN_FILENO, &msg, sizeof msg) == (ssize_t)sizeof msg) {
        if (!px) {
            void* p = nullptr;
            cudaError_t e =
                cudaIpcOpenMemHandle(&p, msg.mem, cudaIpcMemLazyEnablePeerAccess);
            if (e != cudaSuccess) {
                std::fprintf(stderr, "analyse: open: %s\n", cudaGetErrorString(e));
                rc = 1;
                break;
            }
            px = static_cast<float*>(p);
        }
        double mean = 0;
        if (!mean_of(px, msg.count, d_sum, &mean)) {
            rc = 1;
            break;
        }
        std::fprintf(stderr, "tick %u mean %.4f\n", msg.tick, mean);
        char ack = 'k';
        if (write(STDOUT_FILENO, &ack, 1) != 1) break;
    }

    if (px && cudaIpcCloseMemHandle(px) != cudaSuccess) rc = 1;
    if (cudaFree(d_sum) != cudaSuccess) rc = 1;
    return rc;
}
