// Another thread prepares pinned memory; if it cannot, main silently stages through pageable memory, with other calls.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <future>
#include <vector>
int main() {
    auto pinned = std::async(std::launch::async, [] {
        void* p = nullptr;
        return cudaMallocHost(&p, 4096) == cudaSuccess ? p : nullptr;
    });
    void* d = nullptr;
    cudaError_t s;
    int rc = 0;
    std::vector<char> plain(4096);
    void* h = pinned.get();
    (void)cudaGetLastError();
    if ((s = cudaMalloc(&d, 4096))) {
        fprintf(stderr, "cudaMalloc: %s\n", cudaGetErrorString(s));
        rc = 1;
    } else if (h) {
        if ((s = cudaMemcpyAsync(d, h, 4096, cudaMemcpyHostToDevice, 0)) || (s = cudaStreamSynchronize(0))) {
            fprintf(stderr, "upload: %s\n", cudaGetErrorString(s));
            rc = 1;
        }
    } else if ((s = cudaMemcpy(d, plain.data(), 4096, cudaMemcpyHostToDevice))) {
        fprintf(stderr, "cudaMemcpy: %s\n", cudaGetErrorString(s));
        rc = 1;
    }
    if (h && (s = cudaFreeHost(h))) {
        fprintf(stderr, "cudaFreeHost: %s\n", cudaGetErrorString(s));
        rc = 1;
    }
    if (d && (s = cudaFree(d))) {
        fprintf(stderr, "cudaFree: %s\n", cudaGetErrorString(s));
        rc = 1;
    }
    puts(rc ? "bad" : "uploaded");
    return rc;
}
