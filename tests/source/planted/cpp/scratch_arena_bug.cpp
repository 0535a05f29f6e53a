#include <cuda_runtime.h>
#include <cstddef>
#include <stdexcept>

class ScratchArena {
public:
    ScratchArena() = default;
    ScratchArena(const ScratchArena&) = delete;
    ScratchArena& operator=(const ScratchArena&) = delete;

    ~ScratchArena()
    {
        if (base_)
            cudaFree(base_);
    }

    void* reserve(std::size_t bytes)
    {
        if (bytes > size_) {
            if (cudaMalloc(&base_, bytes) != cudaSuccess)
                throw std::runtime_error("out of device memory");
            size_ = bytes;
        }
        return base_;
    }

    std::size_t size() const { return size_; }

private:
    void* base_ = nullptr;
    std::size_t size_ = 0;
};

void* scratch_for(ScratchArena& arena, std::size_t rows, std::size_t row_bytes)
{
    return arena.reserve(rows * ((row_bytes + 511) / 512) * 512);
}
