#include "conv_layer.h"

namespace nnrt {

#define DNN(expr)                                   \
  do {                                              \
    if ((expr) != CUDNN_STATUS_SUCCESS) {           \
      conv_plan_free(p);                            \
      return Status::kDnn;                          \
    }                                               \
  } while (0)

void conv_plan_free(ConvPlan* p) {
  if (p->workspace) cudaFree(p->workspace);
  if (p->conv) cudnnDestroyConvolutionDescriptor(p->conv);
  if (p->w) cudnnDestroyFilterDescriptor(p->w);
  if (p->y) cudnnDestroyTensorDescriptor(p->y);
  if (p->x) cudnnDestroyTensorDescriptor(p->x);
  *p = ConvPlan();
}

Status conv_plan_build(cudnnHandle_t h, const ConvShape& s, bool reproducible, ConvPlan* p) {
  *p = ConvPlan();
  DNN(cudnnCreateTensorDescriptor(&p->x));
  DNN(cudnnCreateTensorDescriptor(&p->y));
  DNN(cudnnCreateFilterDescriptor(&p->w));
  DNN(cudnnCreateConvolutionDescriptor(&p->conv));

  DNN(cudnnSetTensor4dDescriptor(p->x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, s.n, s.c, s.h, s.w));
  DNN(cudnnSetFilter4dDescriptor(p->w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, s.k, s.c, s.r, s.s));
  DNN(cudnnSetConvolution2dDescriptor(p->conv, s.pad, s.pad, s.stride, s.stride, 1, 1,
                                      CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  int n, k, oh, ow;
  DNN(cudnnGetConvolution2dForwardOutputDim(p->conv, p->x, p->w, &n, &k, &oh, &ow));
  DNN(cudnnSetTensor4dDescriptor(p->y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, k, oh, ow));

  cudnnConvolutionFwdAlgoPerf_t perf[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
  int found = 0;
  DNN(cudnnGetConvolutionForwardAlgorithm_v7(h, p->x, p->w, p->conv, p->y,
                                             CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &found, perf));
  if (found > 0 && perf[0].status == CUDNN_STATUS_SUCCESS) p->algo = perf[0].algo;

  DNN(cudnnGetConvolutionForwardWorkspaceSize(h, p->x, p->w, p->conv, p->y, p->algo,
                                              &p->workspace_bytes));

  // Batch-invariant results are wanted by the regression runner.
  if (reproducible) p->algo = CUDNN_CONVOLUTION_FWD_ALGO_GEMM;

  if (p->workspace_bytes > 0 &&
      cudaMalloc(&p->workspace, p->workspace_bytes) != cudaSuccess) {
    p->workspace = nullptr;
    conv_plan_free(p);
    return Status::kNoMemory;
  }
  return Status::kOk;
}

Status conv_plan_run(cudnnHandle_t h, const ConvPlan& p, const float* x, const float* w, float* y) {
  const float alpha = 1.f, beta = 0.f;
  cudnnStatus_t rc = cudnnConvolutionForward(h, &alpha, p.x, x, p.w, w, p.conv, p.algo,
                                             p.workspace, p.workspace_bytes, &beta, p.y, y);
  return rc == CUDNN_STATUS_SUCCESS ? Status::kOk : Status::kDnn;
}

}  // namespace nnrt
