// One dense layer: cuBLAS multiplies, cuDNN applies the activation, both on one stream. Every status is checked by a
// function for its library. The layer is built in order; its destructor takes down, in reverse, what was built.

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "libraries.h"

namespace {

constexpr int SIZE = 32;
constexpr size_t BYTES = SIZE * SIZE * sizeof(float);

[[noreturn]] void fail(const char* call, const char* error) {
    throw std::runtime_error(std::string(call) + ": " + error);
}

void cuda(const char* call, cudaError_t status) {
    if (status != cudaSuccess) fail(call, cudaGetErrorString(status));
}
void cublas(const char* call, cublasStatus_t status) {
    if (status != 0) fail(call, cublasGetStatusName(status));
}
void cudnn(const char* call, cudnnStatus_t status) {
    if (status != 0) fail(call, cudnnGetErrorString(status));
}

class Layer {
  public:
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    explicit Layer(std::vector<std::string>* problems) : problems_(problems) {}
    ~Layer();
    void build();
    void forward(const std::vector<float>& input, std::vector<float>& output);

  private:
    // A destructor does not throw: it notes the problem and goes on.
    template <class Function, class Handle>
    void end(const char* call, Function destroy, Handle& handle) {
        if (!handle) return;
        const int status = static_cast<int>(destroy(handle));
        handle = nullptr;
        if (status != 0) problems_->push_back(std::string(call) + " returned " + std::to_string(status));
    }

    std::vector<std::string>* problems_;
    cudaStream_t stream_ = nullptr;
    cublasHandle_t blas_ = nullptr;
    cudnnHandle_t dnn_ = nullptr;
    cudnnTensorDescriptor_t shape_ = nullptr;
    cudnnActivationDescriptor_t relu_ = nullptr;
    float* input_ = nullptr;
    float* weights_ = nullptr;
    float* output_ = nullptr;
};

void Layer::build() {
    cuda("cudaStreamCreate", cudaStreamCreate(&stream_));
    cublas("cublasCreate", cublasCreate(&blas_));
    cublas("cublasSetStream", cublasSetStream(blas_, stream_));
    cudnn("cudnnCreate", cudnnCreate(&dnn_));
    cudnn("cudnnSetStream", cudnnSetStream(dnn_, stream_));
    cudnn("cudnnCreateTensorDescriptor", cudnnCreateTensorDescriptor(&shape_));
    cudnn("cudnnSetTensor4dDescriptor",
          cudnnSetTensor4dDescriptor(shape_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, SIZE, SIZE));
    cudnn("cudnnCreateActivationDescriptor", cudnnCreateActivationDescriptor(&relu_));
    cudnn("cudnnSetActivationDescriptor",
          cudnnSetActivationDescriptor(relu_, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
    cuda("cudaMalloc (input)", cudaMalloc(reinterpret_cast<void**>(&input_), BYTES));
    cuda("cudaMalloc (weights)", cudaMalloc(reinterpret_cast<void**>(&weights_), BYTES));
    cuda("cudaMalloc (output)", cudaMalloc(reinterpret_cast<void**>(&output_), BYTES));
    cuda("cudaMemset", cudaMemset(weights_, 0, BYTES));
}

void Layer::forward(const std::vector<float>& input, std::vector<float>& output) {
    const float one = 1, zero = 0;
    const auto up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost;
    const auto plain = CUBLAS_OP_N;
    const int n = SIZE;
    cuda("cudaMemcpyAsync (input)", cudaMemcpyAsync(input_, input.data(), BYTES, up, stream_));
    cublas("cublasSgemm", cublasSgemm(blas_, plain, plain, n, n, n, &one, weights_, n, input_, n, &zero, output_, n));
    cudnn("cudnnActivationForward", cudnnActivationForward(dnn_, relu_, &one, shape_, output_, &zero, shape_, output_));
    cuda("cudaMemcpyAsync (output)", cudaMemcpyAsync(output.data(), output_, BYTES, down, stream_));
    cuda("cudaStreamSynchronize", cudaStreamSynchronize(stream_));
}

Layer::~Layer() {
    end("cudaFree (output)", [](float* memory) { return cudaFree(memory); }, output_);
    end("cudaFree (weights)", [](float* memory) { return cudaFree(memory); }, weights_);
    end("cudaFree (input)", [](float* memory) { return cudaFree(memory); }, input_);
    end("cudnnDestroyActivationDescriptor", cudnnDestroyActivationDescriptor, relu_);
    end("cudnnDestroyTensorDescriptor", cudnnDestroyTensorDescriptor, shape_);
    end("cudnnDestroy", cudnnDestroy, dnn_);
    end("cublasDestroy", cublasDestroy, blas_);
    end("cudaStreamDestroy", cudaStreamDestroy, stream_);
}

}  // namespace

int main() {
    std::vector<std::string> problems;  // those of the destructor: they come after the error that ended the work
    bool good = true;
    const std::vector<float> input(SIZE * SIZE, 1);
    std::vector<float> output(input.size());
    try {
        Layer layer(&problems);
        layer.build();
        layer.forward(input, output);
        layer.forward(output, output);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "handles: %s\n", error.what());
        good = false;
    }
    for (const std::string& problem : problems) std::fprintf(stderr, "handles: %s\n", problem.c_str());
    if (!good || !problems.empty()) return 1;
    std::printf("handles: a layer of %d x %d went forward twice\n", SIZE, SIZE);
    return 0;
}
