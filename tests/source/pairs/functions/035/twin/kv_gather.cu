#include "dev_pool.hpp"
#include <stdexcept>
#include <vector>

// Attention cache split over two GPUs: device 0 gathers rows that live on device 1.

namespace kv {

__global__ void fill(float* p, size_t n, float seed) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) p[i] = seed + i;
}

__global__ void gather(const float* remote, const int* idx, float* out, int rows, int dim) {
  int r = blockIdx.x;
  for (int d = threadIdx.x; d < dim; d += blockDim.x)
    if (r < rows) out[size_t(r) * dim + d] = remote[size_t(idx[r]) * dim + d];
}

struct StreamOn {
  int dev;
  cudaStream_t s = nullptr;
  explicit StreamOn(int d) : dev(d) {
    check(cudaSetDevice(d));
    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  ~StreamOn() {
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
  }
  StreamOn(const StreamOn&) = delete;
  StreamOn& operator=(const StreamOn&) = delete;
};

std::vector<float> gather_rows(const std::vector<int>& wanted, int cache_rows, int dim) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (!can) throw std::runtime_error("GPUs 0 and 1 are not connected");

  DevPool far(1, 0), near(0, -1);
  const size_t cache_n = size_t(cache_rows) * dim;
  const int rows = int(wanted.size());
  std::vector<float> host(size_t(rows) * dim);

  StreamOn s1(1);
  Block<float> cache(far, cache_n, s1.s);
  fill<<<unsigned((cache_n + 255) / 256), 256, 0, s1.s>>>(cache.get(), cache_n, 1.f);
  check(cudaGetLastError());
  check(cudaStreamSynchronize(s1.s));

  StreamOn s0(0);
  Block<int> idx(near, rows, s0.s);
  Block<float> out(near, host.size(), s0.s);
  check(cudaMemcpyAsync(idx.get(), wanted.data(), rows * sizeof(int), cudaMemcpyHostToDevice,
                        s0.s));
  gather<<<rows, 128, 0, s0.s>>>(cache.get(), idx.get(), out.get(), rows, dim);
  check(cudaGetLastError());
  check(cudaMemcpyAsync(host.data(), out.get(), host.size() * sizeof(float),
                        cudaMemcpyDeviceToHost, s0.s));
  check(cudaStreamSynchronize(s0.s));
  return host;
}

}  // namespace kv
