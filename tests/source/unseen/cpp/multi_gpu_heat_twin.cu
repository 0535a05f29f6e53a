#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void hcheck(cudaError_t code, int line) {
    if (code != cudaSuccess) {
        std::fprintf(stderr, "heat.cu:%d: %s\n", line, cudaGetErrorString(code));
        std::exit(1);
    }
}
#define H(x) hcheck((x), __LINE__)

struct Slab {
    int device;
    cudaStream_t queue;
    float *cur, *next;
};

__global__ void diffuse(const float* a, float* b, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) b[i] = a[i] + k * (a[i - 1] - 2.0f * a[i] + a[i + 1]);
}

static Slab makeSlab(int device, int n) {
    Slab s{device, nullptr, nullptr, nullptr};
    H(cudaSetDevice(device));
    H(cudaStreamCreateWithFlags(&s.queue, cudaStreamNonBlocking));
    H(cudaMalloc(&s.cur, n * sizeof(float)));
    H(cudaMalloc(&s.next, n * sizeof(float)));
    H(cudaMemsetAsync(s.cur, 0, n * sizeof(float), s.queue));
    H(cudaMemsetAsync(s.next, 0, n * sizeof(float), s.queue));
    return s;
}

static void step(std::vector<Slab>& slabs, int n, float k) {
    for (Slab& s : slabs) {
        H(cudaSetDevice(s.device));
        diffuse<<<(n + 255) / 256, 256, 0, s.queue>>>(s.cur, s.next, n, k);
        H(cudaGetLastError());
        float* t = s.cur;
        s.cur = s.next;
        s.next = t;
    }
}

int main() {
    int count = 0;
    H(cudaGetDeviceCount(&count));
    if (count < 2) {
        std::puts("needs two devices");
        return 0;
    }
    const int n = 1 << 20;
    std::vector<Slab> slabs;
    for (int d = 0; d < 2; ++d) slabs.push_back(makeSlab(d, n));
    for (int it = 0; it < 100; ++it) step(slabs, n, 0.2f);
    for (Slab& s : slabs) {
        H(cudaSetDevice(s.device));
        H(cudaStreamSynchronize(s.queue));
        H(cudaFree(s.cur));
        H(cudaFree(s.next));
        H(cudaStreamDestroy(s.queue));
    }
    return 0;
}
