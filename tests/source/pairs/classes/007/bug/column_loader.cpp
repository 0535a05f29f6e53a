#include <cuda_runtime_api.h>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define CUDA_TRY(x)                                                            \
    do {                                                                       \
        const cudaError_t status_ = (x);                                       \
        if (status_ != cudaSuccess)                                            \
            throw std::runtime_error(std::string(#x " -> ") +                  \
                                     cudaGetErrorString(status_));             \
    } while (0)

namespace etl {

class StagingPool {
public:
    StagingPool(size_t blockBytes, int blocks) : blockBytes_(blockBytes)
    {
        all_.reserve(blocks);
        free_.reserve(blocks);
        try {
            for (int i = 0; i < blocks; ++i) {
                void* p = nullptr;
                CUDA_TRY(cudaHostAlloc(&p, blockBytes, cudaHostAllocPortable));
                all_.push_back(p);
                free_.push_back(p);
            }
        } catch (...) {
            for (void* p : all_) cudaFreeHost(p);
            throw;
        }
    }
    ~StagingPool() { for (void* p : all_) cudaFreeHost(p); }
    StagingPool(const StagingPool&) = delete;
    StagingPool& operator=(const StagingPool&) = delete;

    void* take()
    {
        std::lock_guard<std::mutex> g(m_);
        if (free_.empty()) throw std::runtime_error("staging pool exhausted");
        void* p = free_.back();
        free_.pop_back();
        return p;
    }
    void give(void* p)
    {
        std::lock_guard<std::mutex> g(m_);
        free_.push_back(p);
    }
    size_t blockBytes() const { return blockBytes_; }

private:
    size_t blockBytes_;
    std::mutex m_;
    std::vector<void*> all_, free_;
};

class Lease {
public:
    explicit Lease(StagingPool& pool) : pool_(pool), p_(pool.take()) {}
    ~Lease() { pool_.give(p_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    char* get() const { return static_cast<char*>(p_); }
private:
    StagingPool& pool_;
    void* p_;
};

class ColumnLoader {
public:
    explicit ColumnLoader(StagingPool& pool) : pool_(pool) { CUDA_TRY(cudaStreamCreate(&stream_)); }
    ~ColumnLoader()
    {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    ColumnLoader(const ColumnLoader&) = delete;
    ColumnLoader& operator=(const ColumnLoader&) = delete;

    void upload(const char* src, size_t bytes, void* dst)
    {
        char* out = static_cast<char*>(dst);
        while (bytes > 0) {
            const size_t n = bytes < pool_.blockBytes() ? bytes : pool_.blockBytes();
            Lease block(pool_);
            std::memcpy(block.get(), src, n);
            CUDA_TRY(cudaMemcpyAsync(out, block.get(), n, cudaMemcpyHostToDevice, stream_));
            src += n;
            out += n;
            bytes -= n;
        }
    }

    void finish() { CUDA_TRY(cudaStreamSynchronize(stream_)); }

private:
    StagingPool& pool_;
    cudaStream_t stream_ = nullptr;
};

} // namespace etl
