#pragma once
#include <cuda_runtime.h>
#include <cstddef>
#include <cstdint>

// Growable index/vertex storage for the streaming mesher. No exceptions in
// this code base: functions say whether they worked.

class MeshBuffer {
public:
    MeshBuffer() = default;
    ~MeshBuffer() { cudaFree(data_); }
    MeshBuffer(const MeshBuffer&) = delete;
    MeshBuffer& operator=(const MeshBuffer&) = delete;

    // Keeps the contents. On failure the buffer is as before.
    bool reserve(size_t bytes, cudaStream_t s)
    {
        if (bytes <= capacity_) return true;
        size_t cap = capacity_ ? capacity_ : 4096;
        while (cap < bytes) cap *= 2;
        uint8_t* fresh = nullptr;
        cudaMalloc(&fresh, cap);
        if (size_) {
            if (cudaMemcpyAsync(fresh, data_, size_, cudaMemcpyDeviceToDevice, s) != cudaSuccess ||
                cudaStreamSynchronize(s) != cudaSuccess) {
                cudaFree(fresh);
                return false;
            }
        }
        cudaFree(data_);
        data_ = fresh;
        capacity_ = cap;
        return true;
    }

    bool append(const void* src, size_t bytes, cudaStream_t s)
    {
        if (!reserve(size_ + bytes, s)) return false;
        if (cudaMemcpyAsync(data_ + size_, src, bytes, cudaMemcpyHostToDevice, s) != cudaSuccess) return false;
        size_ += bytes;
        return true;
    }

    void clear() { size_ = 0; }
    const uint8_t* data() const { return data_; }
    size_t size() const { return size_; }

private:
    uint8_t* data_ = nullptr;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

struct Chunk {
    const float* verts;       // page-locked, alive until Mesher::finish
    size_t vertBytes;
    const uint32_t* indices;
    size_t indexBytes;
};

class Mesher {
public:
    explicit Mesher(cudaStream_t s) : stream_(s) {}

    bool add(const Chunk& c)
    {
        // both or none, so that the two buffers stay in step
        if (!verts_.reserve(verts_.size() + c.vertBytes, stream_)) return false;
        if (!indices_.reserve(indices_.size() + c.indexBytes, stream_)) return false;
        return verts_.append(c.verts, c.vertBytes, stream_) &&
               indices_.append(c.indices, c.indexBytes, stream_);
    }
    bool finish() { return cudaStreamSynchronize(stream_) == cudaSuccess; }

    const MeshBuffer& vertices() const { return verts_; }
    const MeshBuffer& indices() const { return indices_; }

private:
    cudaStream_t stream_;
    MeshBuffer verts_, indices_;
};
