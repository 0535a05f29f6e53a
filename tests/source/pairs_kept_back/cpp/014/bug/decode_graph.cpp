#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <iostream>
#include <utility>
#include <vector>

namespace llm {

struct Layer {
  const float* w;   // [out x in], column major
  int in, out;
};

// Captures one token step of an MLP stack and replays it. If it cannot be captured the
// caller falls back to launching the layers on the same stream one by one.
class DecodeGraph {
 public:
  DecodeGraph(cublasHandle_t blas, cudaStream_t stream, std::vector<Layer> layers, float* ping,
              float* pong)
      : blas_(blas), stream_(stream), layers_(std::move(layers)), ping_(ping), pong_(pong) {}
  ~DecodeGraph() { reset(); }
  DecodeGraph(const DecodeGraph&) = delete;
  DecodeGraph& operator=(const DecodeGraph&) = delete;

  bool build();
  bool replay() { return exec_ && cudaGraphLaunch(exec_, stream_) == cudaSuccess; }

  bool eager() {
    return cublasSetStream(blas_, stream_) == CUBLAS_STATUS_SUCCESS && enqueue();
  }

  void reset() {
    if (exec_) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }

 private:
  bool enqueue() {
    float *x = ping_, *y = pong_;
    const float one = 1.f, zero = 0.f;
    for (const Layer& l : layers_) {
      if (cublasSgemv(blas_, CUBLAS_OP_N, l.out, l.in, &one, l.w, l.out, x, 1, &zero, y, 1) !=
          CUBLAS_STATUS_SUCCESS)
        return false;
      std::swap(x, y);
    }
    return true;
  }

  cublasHandle_t blas_;
  cudaStream_t stream_;
  std::vector<Layer> layers_;
  float *ping_, *pong_;
  cudaGraphExec_t exec_ = nullptr;
};

bool DecodeGraph::build() {
  reset();
  if (cublasSetStream(blas_, stream_) != CUBLAS_STATUS_SUCCESS) return false;
  if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
    return false;

  cudaGraph_t graph = nullptr;
  if (!enqueue()) {
    std::cerr << "decode: layer not capturable\n";
    return false;
  }

  if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  const cudaError_t e = cudaGraphInstantiate(&exec_, graph, 0);
  cudaGraphDestroy(graph);
  if (e != cudaSuccess) {
    exec_ = nullptr;
    return false;
  }
  return true;
}

bool step(DecodeGraph& g, bool& captured) {
  if (!captured) captured = g.build();
  return captured ? g.replay() : g.eager();
}

}  // namespace llm
