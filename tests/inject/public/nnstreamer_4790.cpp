// nnstreamer/nnstreamer#4790: "bugfix: CUDA Memory Leak in Error Path" (issue 4755, "Bug 14").
// Fix 98cf6ca1f63e0600b96f72d1a9f58db94b12780e, parent 46f74a44c2c1d5507e1566b9acd38cf12a0b62a4.
// ext/nnstreamer/tensor_filter/tensor_filter_tensorrt.cc, tensorrt_subplugin::invoke.
//
// This is not the code of NNStreamer: the same calls and the same owners, written anew. The TensorRT context, whose
// execute() returns false when it could not queue the network, became one that queues one cudaMemcpyAsync.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace {

struct GstTensorMemory {
    void* data;
    size_t size;
};

struct IExecutionContext {
    bool execute(void* const* bindings, size_t bytes) {
        cudaError_t status = cudaMemcpyAsync(bindings[1], bindings[0], bytes, cudaMemcpyDefault, nullptr);
        if (status != cudaSuccess) std::fprintf(stderr, "execute: cudaMemcpyAsync: %s\n", cudaGetErrorString(status));
        return status == cudaSuccess;
    }
};

class tensorrt_subplugin {
  public:
    ~tensorrt_subplugin() {
        if (inputBuffer_ != nullptr) cudaFree(inputBuffer_);
    }
    void invoke(const GstTensorMemory* input, GstTensorMemory* output);
    void destroyNotify(void* data) {
        if (data != nullptr) cudaFree(data);
    }

  private:
    int allocBuffer(void** buffer, size_t size);
    void* inputBuffer_ = nullptr;
    IExecutionContext context_;
};

int tensorrt_subplugin::allocBuffer(void** buffer, size_t size) {
    cudaError_t status = cudaMallocManaged(buffer, size, cudaMemAttachGlobal);
    if (status != cudaSuccess) {
        std::fprintf(stderr, "cudaMallocManaged: %s\n", cudaGetErrorString(status));
        return -1;
    }
    return 0;
}

void tensorrt_subplugin::invoke(const GstTensorMemory* input, GstTensorMemory* output) {
    if (!inputBuffer_ && allocBuffer(&inputBuffer_, input->size) != 0)
        throw std::runtime_error("no GPU memory for the input");
    std::memcpy(inputBuffer_, input->data, input->size);
    if (allocBuffer(&output->data, output->size) != 0) throw std::runtime_error("no GPU memory for the output");
    void* bindings[] = {inputBuffer_, output->data};
    if (!context_.execute(bindings, output->size)) {
        throw std::runtime_error("the network was not executed");
    }
    cudaDeviceSynchronize();
}

}  // namespace

int main() {
    std::vector<char> frame(4096, 'f');
    tensorrt_subplugin filter;
    for (int number = 0; number < 2; number++) {
        GstTensorMemory input = {frame.data(), frame.size()};
        GstTensorMemory output = {nullptr, frame.size()};
        try {
            filter.invoke(&input, &output);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "frame %d is dropped: %s\n", number, error.what());
            continue;
        }
        std::printf("frame %d is done\n", number);
        filter.destroyNotify(output.data);
    }
    return 0;
}
