#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void Expect(cudaError_t e, const char* step) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "pcie_bw: %s: %s\n", step, cudaGetErrorString(e));
  std::exit(1);
}

class Timer {
 public:
  Timer() {
    Expect(cudaEventCreate(&a_), "event");
    Expect(cudaEventCreate(&b_), "event");
  }
  ~Timer() {
    cudaEventDestroy(a_);
    cudaEventDestroy(b_);
  }
  Timer(const Timer&) = delete;
  void operator=(const Timer&) = delete;

  void Start(cudaStream_t s) { Expect(cudaEventRecord(a_, s), "start"); }
  void Stop(cudaStream_t s) { Expect(cudaEventRecord(b_, s), "stop"); }
  float Ms() const {
    float ms = 0.f;
    Expect(cudaEventElapsedTime(&ms, a_, b_), "elapsed");
    return ms;
  }

 private:
  cudaEvent_t a_ = nullptr, b_ = nullptr;
};

struct Sample {
  size_t bytes;
  double h2d, d2h;
};

Sample Measure(void* host, void* dev, size_t bytes, int reps, cudaStream_t s) {
  Timer up, down;
  up.Start(s);
  for (int i = 0; i < reps; ++i)
    Expect(cudaMemcpyAsync(dev, host, bytes, cudaMemcpyHostToDevice, s), "h2d");
  up.Stop(s);
  down.Start(s);
  for (int i = 0; i < reps; ++i)
    Expect(cudaMemcpyAsync(host, dev, bytes, cudaMemcpyDeviceToHost, s), "d2h");
  down.Stop(s);

  const double gb = 1e-9 * bytes * reps;
  return Sample{bytes, gb / (up.Ms() * 1e-3), gb / (down.Ms() * 1e-3)};
}

}  // namespace

int main(int argc, char** argv) {
  const int device = argc > 1 ? std::atoi(argv[1]) : 0;
  const size_t largest = size_t(256) << 20;
  Expect(cudaSetDevice(device), "device");

  void *host = nullptr, *dev = nullptr;
  cudaStream_t s = nullptr;
  Expect(cudaHostAlloc(&host, largest, cudaHostAllocDefault), "pinned");
  Expect(cudaMalloc(&dev, largest), "device memory");
  Expect(cudaStreamCreate(&s), "stream");

  std::vector<Sample> table;
  for (size_t b = 4096; b <= largest; b *= 4) table.push_back(Measure(host, dev, b, 20, s));
  Expect(cudaStreamSynchronize(s), "sync");

  for (const Sample& x : table)
    std::printf("%10zu  %7.2f GB/s up  %7.2f GB/s down\n", x.bytes, x.h2d, x.d2h);
  const auto best = std::max_element(table.begin(), table.end(),
                                     [](const Sample& l, const Sample& r) { return l.h2d < r.h2d; });
  std::printf("best: %zu\n", best->bytes);

  Expect(cudaStreamDestroy(s), "stream");
  Expect(cudaFree(dev), "free");
  Expect(cudaFreeHost(host), "free host");
  return 0;
}
