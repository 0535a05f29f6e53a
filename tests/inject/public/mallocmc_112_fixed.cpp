// alpaka-group/mallocMC#112: "Fixed problems leading to uninitialized pointers" (issue 110).
// The same with the fix.
// Fix 90881fd6f31ddafc738d703cd51b97d4d9c94a50, parent 8980ead57c6282a305b21ed229c844d498024fae.
// src/include/mallocMC/reservePoolPolicies/SimpleCudaMalloc_impl.hpp, SimpleCudaMalloc::setMemPool;
// src/include/mallocMC/mallocMC_utils.hpp, CUDA::checkError.
//
// This is not the code of mallocMC: the same calls and the same check, written anew. The
// policies are two, and the kernel that writes the heap's first page became one cudaMemset.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace CUDA {

class error : public std::runtime_error {
  public:
    error(cudaError_t code, const char* file, int line)
        : std::runtime_error(std::string(file) + "(" + std::to_string(line) + "): " + cudaGetErrorString(code)) {}
};

inline void checkError(cudaError_t code, const char* file, int line) {
    if (code != cudaSuccess) throw CUDA::error(code, file, line);
}

}  // namespace CUDA

#define MALLOCMC_CUDA_CHECKED_CALL(call) CUDA::checkError(call, __FILE__, __LINE__)

namespace mallocMC {

struct SimpleCudaMalloc {
    static void* setMemPool(size_t memsize) {
        void* pool = nullptr;
        MALLOCMC_CUDA_CHECKED_CALL(cudaMalloc(&pool, memsize));
        return pool;
    }
    static void resetMemPool(void* pool) { MALLOCMC_CUDA_CHECKED_CALL(cudaFree(pool)); }
};

struct Scatter {
    static void initHeap(void* pool, size_t) { MALLOCMC_CUDA_CHECKED_CALL(cudaMemset(pool, 0, 4096)); }
};

template <typename CreationPolicy, typename ReservePoolPolicy>
class Allocator {
  public:
    void initHeap(size_t size) {
        pool_ = ReservePoolPolicy::setMemPool(size);
        alignPool(size);
        CreationPolicy::initHeap(pool_, size);
    }
    void finalizeHeap() { ReservePoolPolicy::resetMemPool(pool_); }

  private:
    void alignPool(size_t& size) {
        const uintptr_t address = reinterpret_cast<uintptr_t>(pool_);
        const uintptr_t aligned = (address + 15) & ~static_cast<uintptr_t>(15);
        size -= aligned - address;
        pool_ = reinterpret_cast<void*>(aligned);
    }
    void* pool_ = nullptr;
};

}  // namespace mallocMC

int main() {
    mallocMC::Allocator<mallocMC::Scatter, mallocMC::SimpleCudaMalloc> heap;
    try {
        heap.initHeap(1 << 20);
        heap.finalizeHeap();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    std::puts("heap made and given back");
    return 0;
}
