#pragma once
#include <cuda_runtime.h>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace ra {

inline void throw_if(cudaError_t e, const char* what)
{
    if (e != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// Power spectrum living on the GPU, nchan x npol floats.
class Spectrum {
public:
    Spectrum() = default;
    Spectrum(size_t nchan, size_t npol) : nchan_(nchan), npol_(npol)
    {
        throw_if(cudaMalloc(&data_, bytes()), "Spectrum alloc");
    }
    ~Spectrum() { cudaFree(data_); }

    Spectrum(const Spectrum&) = delete;
    Spectrum& operator=(const Spectrum&) = delete;

    Spectrum(Spectrum&& o) noexcept
        : data_(std::exchange(o.data_, nullptr)),
          nchan_(std::exchange(o.nchan_, 0)),
          npol_(std::exchange(o.npol_, 0)) {}

    Spectrum& operator=(Spectrum&& o) noexcept
    {
        if (this != &o) {
            cudaFree(data_);
            data_  = std::exchange(o.data_, nullptr);
            nchan_ = std::exchange(o.nchan_, 0);
            npol_  = std::exchange(o.npol_, 0);
        }
        return *this;
    }

    float* data() { return data_; }
    const float* data() const { return data_; }
    size_t count() const { return nchan_ * npol_; }
    size_t bytes() const { return count() * sizeof(float); }

private:
    float* data_ = nullptr;
    size_t nchan_ = 0;
    size_t npol_ = 0;
};

} // namespace ra
