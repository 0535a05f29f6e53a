#pragma once
#include <cuda_runtime.h>
#include <stdexcept>

namespace kv {

struct Error : std::runtime_error {
  explicit Error(cudaError_t e) : std::runtime_error(cudaGetErrorString(e)), code(e) {}
  cudaError_t code;
};

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw Error(e);
}

// Own memory pool on `device`, readable and writable by `peer` when there is one.
class DevPool {
 public:
  DevPool(int device, int peer) {
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypeNone;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    check(cudaMemPoolCreate(&pool_, &props));
    if (peer >= 0) {
      cudaMemAccessDesc acc = {};
      acc.location.type = cudaMemLocationTypeDevice;
      acc.location.id = peer;
      acc.flags = cudaMemAccessFlagsProtReadWrite;
      cudaError_t e = cudaMemPoolSetAccess(pool_, &acc, 1);
      if (e != cudaSuccess) {
        cudaMemPoolDestroy(pool_);
        throw Error(e);
      }
    }
  }
  ~DevPool() { cudaMemPoolDestroy(pool_); }
  DevPool(const DevPool&) = delete;
  DevPool& operator=(const DevPool&) = delete;

  cudaMemPool_t handle() const { return pool_; }

 private:
  cudaMemPool_t pool_ = nullptr;
};

// Allocation from a pool, given back in stream order.
template <class T>
class Block {
 public:
  Block(const DevPool& pool, size_t n, cudaStream_t s) : s_(s) {
    check(cudaMallocFromPoolAsync(&p_, n * sizeof(T), pool.handle(), s));
  }
  ~Block() { cudaFreeAsync(p_, s_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  T* get() const { return static_cast<T*>(p_); }

 private:
  void* p_ = nullptr;
  cudaStream_t s_;
};

}  // namespace kv
