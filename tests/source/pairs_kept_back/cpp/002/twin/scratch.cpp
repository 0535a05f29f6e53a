#include "scratch.h"

#include <algorithm>

namespace infer {

namespace {
constexpr size_t kGranularity = size_t(2) << 20;

size_t RoundUp(size_t n) { return (n + kGranularity - 1) / kGranularity * kGranularity; }
}  // namespace

Scratch::~Scratch() {
  if (base_ != nullptr) {
    INFER_CHECK(cudaSetDevice(device_));
    INFER_CHECK(cudaStreamSynchronize(stream_));
    INFER_CHECK(cudaFree(base_));
  }
}

void* Scratch::Reserve(size_t bytes) {
  if (bytes <= capacity_) return base_;

  const size_t want = RoundUp(std::max(bytes, capacity_ + capacity_ / 2));
  INFER_CHECK(cudaSetDevice(device_));
  INFER_CHECK(cudaStreamSynchronize(stream_));
  INFER_CHECK(cudaFree(base_));
  INFER_CHECK(cudaMalloc(&base_, want));
  capacity_ = want;
  return base_;
}

}  // namespace infer
