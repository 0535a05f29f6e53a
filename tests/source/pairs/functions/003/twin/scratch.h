#pragma once
#include <cuda_runtime.h>
#include <cstddef>

namespace rank {

// Growable device scratch area. Contents are not preserved by ensure().
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { if (p_) cudaFree(p_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  cudaError_t ensure(size_t bytes) {
    if (bytes <= cap_) return cudaSuccess;
    if (p_) {
      cudaFree(p_);
      p_ = nullptr;
      cap_ = 0;
    }
    cudaError_t e = cudaMalloc(&p_, bytes);
    if (e == cudaSuccess) cap_ = bytes;
    return e;
  }

  template <class T> T* as() const { return static_cast<T*>(p_); }
  size_t capacity() const { return cap_; }

 private:
  void* p_ = nullptr;
  size_t cap_ = 0;
};

}  // namespace rank
