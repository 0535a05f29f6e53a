#include <cuda_runtime.h>

#include <cstdint>
#include <iostream>
#include <stdexcept>

// Terrain tiles of the world; very large worlds spill into managed memory.
namespace terrain {

class CudaFailure : public std::runtime_error {
public:
    CudaFailure(const char* op, cudaError_t e)
        : std::runtime_error(std::string(op) + " (" + cudaGetErrorName(e) + ")") {}
};

template <class T>
class TileStore {
public:
    explicit TileStore(std::size_t count) : count_(count) {
        cudaError_t e = cudaMalloc(&data_, count * sizeof(T));
        if (e == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            std::clog << "terrain: device memory short, using managed tiles\n";
            e = cudaMallocManaged(&data_, count * sizeof(T));
        }
        if (e != cudaSuccess) throw CudaFailure("tile storage", e);
    }
    ~TileStore() { cudaFree(data_); }
    TileStore(const TileStore&) = delete;
    TileStore& operator=(const TileStore&) = delete;

    T* get() const noexcept { return data_; }
    std::size_t size() const noexcept { return count_; }

private:
    T* data_ = nullptr;
    std::size_t count_;
};

__global__ void fill_noise(float* h, std::size_t n, std::uint32_t seed) {
    std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
    std::size_t step = std::size_t(gridDim.x) * blockDim.x;
    for (; i < n; i += step) {
        std::uint32_t x = std::uint32_t(i) * 747796405u + seed;
        x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
        h[i] = float(x >> 8) / float(1 << 24);
    }
}

void generate(TileStore<float>& store, std::uint32_t seed) {
    fill_noise<<<1024, 256>>>(store.get(), store.size(), seed);
    cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess) throw CudaFailure("fill_noise", e);
    e = cudaDeviceSynchronize();
    if (e != cudaSuccess) throw CudaFailure("terrain generation", e);
}

}  // namespace terrain

int main() {
    try {
        terrain::TileStore<float> heights(std::size_t(24) << 30);
        terrain::generate(heights, 99u);
        float first = 0;
        cudaError_t e = cudaMemcpy(&first, heights.get(), sizeof first, cudaMemcpyDefault);
        if (e != cudaSuccess) throw terrain::CudaFailure("peek", e);
        std::cout << first << '\n';
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    return 0;
}
