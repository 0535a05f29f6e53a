#ifndef DAQ_SAMPLE_LOG_H
#define DAQ_SAMPLE_LOG_H

#include <cuda_runtime.h>
#include <cstdint>
#include <vector>

namespace daq {

// Host ring of ADC samples, page-locked so blocks can be pushed to the GPU
// while the next ones arrive.
class SampleLog {
public:
    explicit SampleLog(size_t samples);
    ~SampleLog();
    SampleLog(const SampleLog&) = delete;
    SampleLog& operator=(const SampleLog&) = delete;

    bool valid() const { return pinned_; }
    bool append(const int16_t* src, size_t n);
    bool flush(int16_t* d_dst, cudaStream_t s);   // waits for the copy
    size_t used() const { return used_; }

private:
    bool pin();
    void unpin();
    bool grow(size_t samples);

    std::vector<int16_t> data_;
    size_t used_ = 0;
    bool pinned_ = false;
};

} // namespace daq

#endif
