#include "conv_layer.h"
#include <stdexcept>

#define DNN(x) do { cudnnStatus_t s_ = (x); if (s_ != CUDNN_STATUS_SUCCESS) throw std::runtime_error(cudnnGetErrorString(s_)); } while (0)
#define CU(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e_)); } while (0)

namespace nn {

static const cudnnConvolutionFwdAlgo_t kAlgo = CUDNN_CONVOLUTION_FWD_ALGO_GEMM;

ConvLayer::ConvLayer(cudnnHandle_t dnn, int outChannels, int kernel)
    : dnn_(dnn), k_(outChannels), kernel_(kernel)
{
    try {
        DNN(cudnnCreateTensorDescriptor(&xDesc_));
        DNN(cudnnCreateTensorDescriptor(&yDesc_));
        DNN(cudnnCreateFilterDescriptor(&wDesc_));
        DNN(cudnnCreateConvolutionDescriptor(&convDesc_));
        DNN(cudnnSetConvolution2dDescriptor(convDesc_, kernel / 2, kernel / 2, 1, 1, 1, 1,
                                            CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    } catch (...) {
        destroyAll();
        throw;
    }
}

ConvLayer::~ConvLayer() { destroyAll(); }

void ConvLayer::destroyAll()
{
    cudaFree(workspace_);
    cudaFree(weights_);
    if (convDesc_) cudnnDestroyConvolutionDescriptor(convDesc_);
    if (wDesc_) cudnnDestroyFilterDescriptor(wDesc_);
    if (yDesc_) cudnnDestroyTensorDescriptor(yDesc_);
    if (xDesc_) cudnnDestroyTensorDescriptor(xDesc_);
}

void ConvLayer::reshape(const Dims& in)
{
    if (weights_ && in.c != in_.c) throw std::invalid_argument("channel count is fixed");

    DNN(cudnnSetTensor4dDescriptor(xDesc_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, in.n, in.c, in.h, in.w));
    DNN(cudnnSetFilter4dDescriptor(wDesc_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, k_, in.c, kernel_, kernel_));
    Dims o;
    DNN(cudnnGetConvolution2dForwardOutputDim(convDesc_, xDesc_, wDesc_, &o.n, &o.c, &o.h, &o.w));
    DNN(cudnnSetTensor4dDescriptor(yDesc_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, o.n, o.c, o.h, o.w));

    if (!weights_)
        CU(cudaMalloc(&weights_, sizeof(float) * k_ * in.c * kernel_ * kernel_));
    in_ = in;
    out_ = o;

    size_t need = 0;
    DNN(cudnnGetConvolutionForwardWorkspaceSize(dnn_, xDesc_, wDesc_, convDesc_, yDesc_, kAlgo, &need));
    if (!workspace_ && need > 0)
        CU(cudaMalloc(&workspace_, need));
    workspaceBytes_ = need;
}

void ConvLayer::forward(const float* x, float* y)
{
    const float one = 1.f, zero = 0.f;
    DNN(cudnnConvolutionForward(dnn_, &one, xDesc_, x, wDesc_, weights_, convDesc_, kAlgo,
                                workspace_, workspaceBytes_, &zero, yDesc_, y));
}

} // namespace nn
