// Arithmetic Asian call, one stream per desk.
#include <cuda_runtime.h>
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

struct OptionSpec {
  double spot, strike, rate, vol, maturity;
  int fixings;
};

static void guard(cudaError_t rc, const char* expr) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "%s -> %s\n", expr, cudaGetErrorString(rc));
  std::exit(2);
}
#define G(x) guard((x), #x)

__global__ void simulate(OptionSpec o, unsigned long long seed, int paths, double* payoff) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= paths) return;
  curandStatePhilox4_32_10_t st;
  curand_init(seed, i, 0, &st);
  double dt = o.maturity / o.fixings, s = o.spot, acc = 0;
  double drift = (o.rate - 0.5 * o.vol * o.vol) * dt, sq = o.vol * sqrt(dt);
  for (int k = 0; k < o.fixings; ++k) {
    s *= exp(drift + sq * curand_normal_double(&st));
    acc += s;
  }
  payoff[i] = fmax(acc / o.fixings - o.strike, 0.0);
}

class Desk {
 public:
  explicit Desk(int paths) : paths_(paths) {
    G(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    G(cudaMalloc(&d_payoff_, sizeof(double) * paths_));
    G(cudaMallocHost(&h_payoff_, sizeof(double) * paths_));
  }
  ~Desk() {
    cudaFreeHost(h_payoff_);
    cudaFree(d_payoff_);
    cudaStreamDestroy(stream_);
  }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  double price(const OptionSpec& o, unsigned long long seed) {
    const int tpb = 128;
    simulate<<<(paths_ + tpb - 1) / tpb, tpb, 0, stream_>>>(o, seed, paths_, d_payoff_);
    G(cudaGetLastError());
    G(cudaMemcpyAsync(h_payoff_, d_payoff_, sizeof(double) * paths_, cudaMemcpyDeviceToHost,
                      stream_));
    double sum = std::accumulate(h_payoff_, h_payoff_ + paths_, 0.0);
    return std::exp(-o.rate * o.maturity) * sum / paths_;
  }

 private:
  int paths_;
  cudaStream_t stream_ = nullptr;
  double* d_payoff_ = nullptr;
  double* h_payoff_ = nullptr;
};

int main() {
  Desk desk(1 << 18);
  const double strikes[] = {80, 90, 100, 110, 120};
  for (double k : strikes) {
    OptionSpec o{100.0, k, 0.03, 0.25, 1.0, 52};
    std::printf("K=%.0f  %.4f\n", k, desk.price(o, 4242));
  }
  return 0;
}
