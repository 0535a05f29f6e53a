#include <cuda_runtime.h>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

class Frame {
public:
    Frame(std::size_t width, std::size_t height) : bytes_(width * height * 4)
    {
        if (cudaMalloc(&pixels_, bytes_) != cudaSuccess)
            throw std::runtime_error("frame allocation failed");
    }
    ~Frame()
    {
        if (pixels_)
            cudaFree(pixels_);
    }

    void* pixels() const { return pixels_; }
    std::size_t bytes() const { return bytes_; }

private:
    void* pixels_ = nullptr;
    std::size_t bytes_ = 0;
};

class FrameRing {
public:
    void add(std::size_t width, std::size_t height)
    {
        Frame frame(width, height);
        if (cudaMemset(frame.pixels(), 0, frame.bytes()) != cudaSuccess)
            throw std::runtime_error("clear failed");
        frames_.push_back(frame);
    }

    const Frame& at(std::size_t i) const { return frames_.at(i); }

private:
    std::vector<Frame> frames_;
};
