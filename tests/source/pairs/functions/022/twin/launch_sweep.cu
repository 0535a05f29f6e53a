#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

namespace {

void ensure(bool ok, const char* what) {
  if (!ok) {
    std::fprintf(stderr, "sweep: %s (%s)\n", what, cudaGetErrorString(cudaGetLastError()));
    std::exit(1);
  }
}
#define OK(x) ensure((x) == cudaSuccess, #x)

__global__ void saxpy(float a, const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}

struct Point {
  int grid, block;
  float best_ms;
};

// Runs every launch shape; shapes the device refuses are left out.
std::vector<Point> sweep(const float* x, float* y, int n, int repeats, cudaStream_t s) {
  std::vector<Point> points;
  for (int block = 32; block <= 2048; block *= 2) {
    for (int grid = 16; grid <= 65536; grid *= 4) {
      cudaEvent_t beg, end;
      OK(cudaEventCreate(&beg));
      OK(cudaEventCreate(&end));

      saxpy<<<grid, block, 0, s>>>(0.f, x, y, n);
      cudaError_t launched = cudaGetLastError();
      if (launched == cudaErrorInvalidConfiguration) {
        std::fprintf(stderr, "skip %d x %d\n", grid, block);
        OK(cudaEventDestroy(beg));
        OK(cudaEventDestroy(end));
        continue;
      }
      OK(launched);

      float best = std::numeric_limits<float>::max();
      for (int r = 0; r < repeats; ++r) {
        float ms = 0.f;
        OK(cudaEventRecord(beg, s));
        saxpy<<<grid, block, 0, s>>>(1.0f, x, y, n);
        OK(cudaGetLastError());
        OK(cudaEventRecord(end, s));
        OK(cudaEventSynchronize(end));
        OK(cudaEventElapsedTime(&ms, beg, end));
        best = std::min(best, ms);
      }
      points.push_back({grid, block, best});
      OK(cudaEventDestroy(beg));
      OK(cudaEventDestroy(end));
    }
  }
  return points;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 24;
  float *x, *y;
  cudaStream_t s;
  OK(cudaMalloc(&x, n * sizeof(float)));
  OK(cudaMalloc(&y, n * sizeof(float)));
  OK(cudaStreamCreate(&s));
  OK(cudaMemsetAsync(x, 0, n * sizeof(float), s));
  OK(cudaMemsetAsync(y, 0, n * sizeof(float), s));

  // nightly mode keeps sweeping until told to stop
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
  for (int i = 0; i < rounds; ++i) {
    auto pts = sweep(x, y, n, 10, s);
    std::sort(pts.begin(), pts.end(),
              [](const Point& a, const Point& b) { return a.best_ms < b.best_ms; });
    for (size_t k = 0; k < std::min<size_t>(pts.size(), 5); ++k)
      std::printf("%d: grid %d block %d %.4f ms\n", i, pts[k].grid, pts[k].block, pts[k].best_ms);
  }

  OK(cudaStreamSynchronize(s));
  OK(cudaStreamDestroy(s));
  OK(cudaFree(y));
  OK(cudaFree(x));
  return 0;
}
