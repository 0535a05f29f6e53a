#include "scratch.h"
#include <memory>
#include <stdexcept>

namespace rank {

#define RANK_TRY(x)                                             \
  do {                                                          \
    cudaError_t rc_ = (x);                                      \
    if (rc_ != cudaSuccess) return rc_;                         \
  } while (0)

__global__ void dense_relu(const float* x, const float* w, float* y, int in, int out) {
  int o = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y;
  if (o >= out) return;
  float s = 0.f;
  for (int i = 0; i < in; ++i) s += x[b * in + i] * w[o * in + i];
  y[b * out + o] = s > 0.f ? s : 0.f;
}

__global__ void head(const float* h, const float* w, float* score, int n) {
  int b = threadIdx.x;
  float s = 0.f;
  for (int i = 0; i < n; ++i) s += h[b * n + i] * w[i];
  score[b] = 1.f / (1.f + __expf(-s));
}

struct Weights {
  const float* w0;
  const float* w1;
  int features;
  int hidden;
};

class Scorer {
 public:
  Scorer(const Weights& w, int batch, const float* d_in, float* d_out)
      : w_(w), batch_(batch), in_(d_in), out_(d_out) {}

  ~Scorer() {
    if (exec_) cudaGraphExecDestroy(exec_);
    if (stream_) {
      cudaStreamSynchronize(stream_);
      cudaStreamDestroy(stream_);
    }
  }
  Scorer(const Scorer&) = delete;
  Scorer& operator=(const Scorer&) = delete;

  // Call once, before the first score().
  cudaError_t init() {
    RANK_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cudaGraph_t g = nullptr;
    RANK_TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    cudaError_t body = forward();
    cudaError_t end = cudaStreamEndCapture(stream_, &g);
    if (body != cudaSuccess || end != cudaSuccess) {
      if (g) cudaGraphDestroy(g);
      return body != cudaSuccess ? body : end;
    }
    cudaError_t inst = cudaGraphInstantiateWithFlags(&exec_, g, 0);
    cudaGraphDestroy(g);
    return inst;
  }

  cudaError_t score() {
    RANK_TRY(cudaGraphLaunch(exec_, stream_));
    return cudaStreamSynchronize(stream_);
  }

 private:
  cudaError_t forward() {
    RANK_TRY(hidden_.ensure(sizeof(float) * batch_ * w_.hidden));
    dim3 grid((w_.hidden + 127) / 128, batch_);
    dense_relu<<<grid, 128, 0, stream_>>>(in_, w_.w0, hidden_.as<float>(), w_.features,
                                          w_.hidden);
    RANK_TRY(cudaGetLastError());
    head<<<1, batch_, 0, stream_>>>(hidden_.as<float>(), w_.w1, out_, w_.hidden);
    return cudaGetLastError();
  }

  Weights w_;
  int batch_;
  const float* in_;
  float* out_;
  Scratch hidden_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

std::unique_ptr<Scorer> make_scorer(const Weights& w, int batch, const float* in, float* out) {
  auto s = std::make_unique<Scorer>(w, batch, in, out);
  cudaError_t rc = s->init();
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
  return s;
}

}  // namespace rank
