#ifndef INFER_SCRATCH_H
#define INFER_SCRATCH_H

#include <cuda_runtime.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define INFER_CHECK(expr)                                                   \
  do {                                                                      \
    cudaError_t status_ = (expr);                                           \
    if (status_ != cudaSuccess) {                                           \
      std::fprintf(stderr, "[infer] %s:%d %s\n", __FILE__, __LINE__,        \
                   cudaGetErrorString(status_));                            \
      std::abort();                                                         \
    }                                                                       \
  } while (0)

namespace infer {

// Grow-only scratch space, one per worker. All users of the memory run on the
// worker's stream.
class Scratch {
 public:
  Scratch(int device, cudaStream_t stream) : device_(device), stream_(stream) {}
  ~Scratch();

  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void* Reserve(size_t bytes);
  size_t capacity() const { return capacity_; }

 private:
  int device_;
  cudaStream_t stream_;
  void* base_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace infer
#endif
