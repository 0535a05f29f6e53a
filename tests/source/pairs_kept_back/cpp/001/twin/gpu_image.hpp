#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace pix {

inline void ok(cudaError_t e, const char* where) {
    if (e != cudaSuccess)
        throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

// Single-channel float plane in device memory.
class GpuImage {
public:
    GpuImage() = default;

    GpuImage(int w, int h) : w_(w), h_(h) {
        void* p = nullptr;
        ok(cudaMallocPitch(&p, &pitch_, w * sizeof(float), h), "GpuImage");
        px_ = static_cast<float*>(p);
    }

    ~GpuImage() { cudaFree(px_); }

    GpuImage(const GpuImage&) = delete;
    GpuImage& operator=(const GpuImage&) = delete;

    GpuImage(GpuImage&& o) noexcept
        : px_(std::exchange(o.px_, nullptr)),
          pitch_(std::exchange(o.pitch_, 0)),
          w_(std::exchange(o.w_, 0)),
          h_(std::exchange(o.h_, 0)) {}

    GpuImage& operator=(GpuImage&& o) noexcept {
        if (this != &o) {
            cudaFree(px_);
            px_ = std::exchange(o.px_, nullptr);
            pitch_ = std::exchange(o.pitch_, 0);
            w_ = std::exchange(o.w_, 0);
            h_ = std::exchange(o.h_, 0);
        }
        return *this;
    }

    float* data() const { return px_; }
    std::size_t pitch() const { return pitch_; }
    int width() const { return w_; }
    int height() const { return h_; }

    void upload(const float* src) {
        ok(cudaMemcpy2D(px_, pitch_, src, w_ * sizeof(float), w_ * sizeof(float), h_,
                        cudaMemcpyHostToDevice), "upload");
    }
    void download(float* dst) const {
        ok(cudaMemcpy2D(dst, w_ * sizeof(float), px_, pitch_, w_ * sizeof(float), h_,
                        cudaMemcpyDeviceToHost), "download");
    }

private:
    float* px_ = nullptr;
    std::size_t pitch_ = 0;
    int w_ = 0;
    int h_ = 0;
};

GpuImage halve(const GpuImage& in);

}  // namespace pix
