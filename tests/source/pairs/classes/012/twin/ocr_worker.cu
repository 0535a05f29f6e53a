#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace ocr {

void Check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class Stream {
 public:
  Stream() { Check(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() {
    cudaStreamSynchronize(s_);
    cudaStreamDestroy(s_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

// Stream-ordered scratch memory.
template <typename T>
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { Release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* Ensure(size_t n, cudaStream_t s) {
    if (n > n_) {
      Release();
      Check(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), s));
      n_ = n;
      stream_ = s;
    }
    return p_;
  }

 private:
  void Release() {
    if (p_) cudaFreeAsync(p_, stream_);
    p_ = nullptr;
    n_ = 0;
  }
  T* p_ = nullptr;
  size_t n_ = 0;
  cudaStream_t stream_ = nullptr;
};

__global__ void Binarize(const uint8_t* in, uint8_t* out, int n, uint8_t t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] > t ? 255 : 0;
}

class PageWorker {
 public:
  std::vector<uint8_t> Process(const std::vector<uint8_t>& page, uint8_t threshold) {
    const int n = static_cast<int>(page.size());
    std::vector<uint8_t> out(page.size());
    if (n == 0) return out;
    uint8_t* in = in_.Ensure(n, stream_);
    uint8_t* bin = out_.Ensure(n, stream_);
    Check(cudaMemcpyAsync(in, page.data(), n, cudaMemcpyHostToDevice, stream_));
    Binarize<<<(n + 255) / 256, 256, 0, stream_>>>(in, bin, n, threshold);
    Check(cudaGetLastError());
    Check(cudaMemcpyAsync(out.data(), bin, n, cudaMemcpyDeviceToHost, stream_));
    Check(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  Stream stream_;
  Scratch<uint8_t> in_;
  Scratch<uint8_t> out_;
};

std::vector<std::vector<uint8_t>> ProcessBook(const std::vector<std::vector<uint8_t>>& pages) {
  auto worker = std::make_unique<PageWorker>();
  std::vector<std::vector<uint8_t>> out;
  out.reserve(pages.size());
  for (const auto& p : pages) out.push_back(worker->Process(p, 128));
  return out;
}

}  // namespace ocr
