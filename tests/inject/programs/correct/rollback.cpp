// Says in plain words what failed, and then which cleanup it does, by name.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
struct Buffers {
    std::vector<void*> all;
    void* get(size_t n, const char* what) {
        void* p;
        cudaError_t s = cudaMalloc(&p, n);
        if (s) throw std::runtime_error(std::string("no memory for ") + what + ": " + cudaGetErrorString(s));
        all.push_back(p);
        return p;
    }
    bool give_back() {
        bool good = true;
        for (void* p : all)
            if (cudaError_t s = cudaFree(p)) {
                fprintf(stderr, "a buffer was not freed: %s\n", cudaGetErrorString(s));
                good = false;
            }
        all.clear();
        return good;
    }
};
int main() {
    Buffers b;
    std::vector<char> host(4096, 1);
    try {
        void* in = b.get(4096, "input");
        void* out = b.get(4096, "output");
        if (cudaError_t s = cudaMemcpy(in, host.data(), 4096, cudaMemcpyHostToDevice))
            throw std::runtime_error(std::string("upload failed: ") + cudaGetErrorString(s));
        if (cudaError_t s = cudaMemcpy(out, in, 4096, cudaMemcpyDeviceToDevice))
            throw std::runtime_error(std::string("processing failed: ") + cudaGetErrorString(s));
        if (cudaError_t s = cudaMemcpy(host.data(), out, 4096, cudaMemcpyDeviceToHost))
            throw std::runtime_error(std::string("download failed: ") + cudaGetErrorString(s));
    } catch (const std::exception& e) {
        fprintf(stderr, "error: %s\n", e.what());
        fprintf(stderr, "rolling back: cudaFree of %zu buffers\n", b.all.size());
        b.give_back();
        return 1;
    }
    if (!b.give_back()) return 1;
    puts("ok");
}
