#pragma once

#include <cuda_runtime.h>

#include <complex>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace grid {

inline void expect(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class Stream {
public:
    Stream() { expect(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(s_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t get() const { return s_; }

private:
    cudaStream_t s_ = nullptr;
};

// Stream-ordered array; allocation and release go to the given stream.
template <class T>
class AsyncArray {
public:
    AsyncArray() = default;
    ~AsyncArray() { reset(); }
    AsyncArray(const AsyncArray&) = delete;
    AsyncArray& operator=(const AsyncArray&) = delete;

    void allocate(std::size_t n, cudaStream_t s) {
        reset();
        void* p = nullptr;
        expect(cudaMallocAsync(&p, n * sizeof(T), s));
        p_ = static_cast<T*>(p);
        n_ = n;
        s_ = s;
    }
    void reset() {
        if (p_) cudaFreeAsync(p_, s_);
        p_ = nullptr;
        n_ = 0;
    }
    T* get() const { return p_; }
    std::size_t size() const { return n_; }

private:
    T* p_ = nullptr;
    std::size_t n_ = 0;
    cudaStream_t s_ = nullptr;
};

class Gridder {
public:
    Gridder(int side, std::size_t max_vis);
    void add(const float2* uv, const float2* vis, std::size_t n);
    void fetch(std::complex<float>* image);

private:
    int side_;
    AsyncArray<float2> uv_;
    AsyncArray<float2> vis_;
    AsyncArray<float2> grid_;
    Stream stream_;
};

}  // namespace grid
