#include "sample_log.h"

#include <algorithm>
#include <cstdio>

namespace daq {

SampleLog::SampleLog(size_t samples) : data_(samples)
{
    pin();
}

SampleLog::~SampleLog()
{
    unpin();
}

bool SampleLog::pin()
{
    if (data_.empty()) return false;
    cudaError_t e = cudaHostRegister(data_.data(), data_.size() * sizeof(int16_t), cudaHostRegisterDefault);
    if (e != cudaSuccess) {
        std::fprintf(stderr, "daq: cannot pin %zu samples: %s\n", data_.size(), cudaGetErrorString(e));
        return false;
    }
    pinned_ = true;
    return true;
}

void SampleLog::unpin()
{
    if (pinned_) cudaHostUnregister(data_.data());
    pinned_ = false;
}

bool SampleLog::grow(size_t samples)
{
    const size_t want = std::max(samples, data_.size() * 2);
    unpin();
    data_.resize(want);
    return pin();
}

bool SampleLog::append(const int16_t* src, size_t n)
{
    if (used_ + n > data_.size() && !grow(used_ + n)) return false;
    std::copy(src, src + n, data_.begin() + used_);
    used_ += n;
    return true;
}

bool SampleLog::flush(int16_t* d_dst, cudaStream_t s)
{
    if (used_ == 0) return true;
    if (cudaMemcpyAsync(d_dst, data_.data(), used_ * sizeof(int16_t), cudaMemcpyHostToDevice, s) != cudaSuccess)
        return false;
    if (cudaStreamSynchronize(s) != cudaSuccess) return false;
    used_ = 0;
    return true;
}

} // namespace daq
