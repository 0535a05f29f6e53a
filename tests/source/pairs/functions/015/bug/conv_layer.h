#pragma once
#include <cudnn.h>
#include <cuda_runtime.h>
#include <cstddef>

namespace nnrt {

struct ConvShape {
  int n, c, h, w;
  int k, r, s;
  int pad, stride;
};

struct ConvPlan {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  cudnnConvolutionFwdAlgo_t algo = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  size_t workspace_bytes = 0;
  void* workspace = nullptr;
};

enum class Status { kOk, kDnn, kNoMemory };

Status conv_plan_build(cudnnHandle_t h, const ConvShape& s, bool reproducible, ConvPlan* p);
Status conv_plan_run(cudnnHandle_t h, const ConvPlan& p, const float* x, const float* w, float* y);
void conv_plan_free(ConvPlan* p);

}  // namespace nnrt
