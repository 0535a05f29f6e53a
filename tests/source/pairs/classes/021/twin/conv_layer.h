#pragma once
#include <cuda_runtime.h>
#include <cudnn.h>
#include <cstddef>

namespace nn {

struct Dims { int n, c, h, w; };

class ConvLayer {
public:
    ConvLayer(cudnnHandle_t dnn, int outChannels, int kernel);
    ~ConvLayer();
    ConvLayer(const ConvLayer&) = delete;
    ConvLayer& operator=(const ConvLayer&) = delete;

    // Must be called before forward(), and again if the input shape changes.
    void reshape(const Dims& in);
    const Dims& outputDims() const { return out_; }

    void forward(const float* x, float* y);
    float* weights() { return weights_; }

private:
    void destroyAll();

    cudnnHandle_t dnn_;
    int k_, kernel_;
    Dims in_{0, 0, 0, 0}, out_{0, 0, 0, 0};
    cudnnTensorDescriptor_t xDesc_ = nullptr, yDesc_ = nullptr;
    cudnnFilterDescriptor_t wDesc_ = nullptr;
    cudnnConvolutionDescriptor_t convDesc_ = nullptr;
    float* weights_ = nullptr;
    void* workspace_ = nullptr;
    size_t workspaceBytes_ = 0;
};

} // namespace nn
