#pragma once
#include <cuda_runtime.h>
#include <memory>
#include <string>

namespace audio {

class Filter {
public:
    Filter() = default;
    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;

    // in place, queued on s
    virtual bool process(float* d_samples, int n, cudaStream_t s) = 0;
    virtual const char* name() const = 0;
};

// nullptr for an unknown name or when the GPU has no room
std::unique_ptr<Filter> makeFilter(const std::string& name, int maxBlock);

} // namespace audio
