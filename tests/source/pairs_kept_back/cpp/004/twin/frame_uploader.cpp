#include "frame_uploader.h"

#include <cstdio>
#include <cstdlib>

namespace vid {

void die(const char* file, int line, cudaError_t e) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorName(e));
    std::exit(EXIT_FAILURE);
}

FrameUploader::FrameUploader(int width, int height, int depth)
    : bytes_(size_t(width) * height * 3 / 2), ring_(depth) {
    VCK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    for (auto& s : ring_) {
        VCK(cudaHostAlloc(reinterpret_cast<void**>(&s.host), bytes_, cudaHostAllocWriteCombined));
        VCK(cudaMalloc(reinterpret_cast<void**>(&s.dev), bytes_));
        VCK(cudaEventCreateWithFlags(&s.uploaded, cudaEventDisableTiming));
        VCK(cudaEventCreateWithFlags(&s.consumed, cudaEventDisableTiming));
    }
}

FrameUploader::~FrameUploader() {
    cudaStreamSynchronize(copy_);
    for (auto& s : ring_) {
        cudaEventSynchronize(s.consumed);
        cudaEventDestroy(s.uploaded);
        cudaEventDestroy(s.consumed);
        cudaFree(s.dev);
        cudaFreeHost(s.host);
    }
    cudaStreamDestroy(copy_);
}

uint8_t* FrameUploader::acquire() {
    Slot& s = ring_[next_ % ring_.size()];
    VCK(cudaEventSynchronize(s.uploaded));
    return s.host;
}

const uint8_t* FrameUploader::submit(cudaStream_t user) {
    Slot& s = ring_[next_ % ring_.size()];
    VCK(cudaStreamWaitEvent(copy_, s.consumed, 0));
    VCK(cudaMemcpyAsync(s.dev, s.host, bytes_, cudaMemcpyHostToDevice, copy_));
    VCK(cudaEventRecord(s.uploaded, copy_));
    VCK(cudaStreamWaitEvent(user, s.uploaded, 0));
    return s.dev;
}

void FrameUploader::release(cudaStream_t user) {
    Slot& s = ring_[next_ % ring_.size()];
    VCK(cudaEventRecord(s.consumed, user));
    ++next_;
}

}  // namespace vid
