// ggml-org/llama.cpp#7376: "cuda : clear error after buffer allocation failure".
// Fix a8bf6a2eb956deb3fe777797bf516c38c8c22917, parent 87237899cb1c665d7e07323798e872df89adcfda (of ggml-org/ggml).
// src/ggml-cuda.cu, ggml_backend_cuda_buffer_type_alloc_buffer.
//
// This is not the code of ggml: the same calls, checks and owners, written anew. A kernel became one cudaMemsetAsync.
// The caller, which loads a model with fewer layers when a buffer cannot be had, became one second, smaller request.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void ggml_cuda_error(const char* stmt, const char* func, int line, const char* msg) {
    std::fprintf(stderr, "CUDA error: %s\n  in function %s at %s:%d\n  %s\n", msg, func, __FILE__, line, stmt);
    std::abort();
}

#define CUDA_CHECK(call)                                                                               \
    do {                                                                                               \
        const cudaError_t code = (call);                                                               \
        if (code != cudaSuccess) ggml_cuda_error(#call, __func__, __LINE__, cudaGetErrorString(code)); \
    } while (0)

struct ggml_backend_cuda_buffer_context {
    void* dev_ptr;
    size_t size;

    ggml_backend_cuda_buffer_context(void* dev_ptr, size_t size) : dev_ptr(dev_ptr), size(size) {}
    ~ggml_backend_cuda_buffer_context() { CUDA_CHECK(cudaFree(dev_ptr)); }
};

ggml_backend_cuda_buffer_context* ggml_backend_cuda_buffer_type_alloc_buffer(int device, size_t size) {
    CUDA_CHECK(cudaSetDevice(device));
    size = std::max(size, static_cast<size_t>(1));
    void* dev_ptr = nullptr;
    cudaError_t err = cudaMalloc(&dev_ptr, size);
    if (err != cudaSuccess) {
        std::fprintf(stderr, "%s: allocating %.2f MiB on device %d: cudaMalloc failed: %s\n", __func__,
                     size / 1048576.0, device, cudaGetErrorString(err));
        return nullptr;
    }
    return new ggml_backend_cuda_buffer_context(dev_ptr, size);
}

bool ggml_cuda_compute_forward(ggml_backend_cuda_buffer_context* buffer, cudaStream_t stream) {
    cudaMemsetAsync(buffer->dev_ptr, 0, buffer->size, stream);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) {
        std::fprintf(stderr, "%s: MUL_MAT failed\n", __func__);
        CUDA_CHECK(err);
    }
    return true;
}

ggml_backend_cuda_buffer_context* load_layers(int* layers) {
    for (*layers = 32; *layers > 0; *layers /= 2) {
        auto* buffer = ggml_backend_cuda_buffer_type_alloc_buffer(0, static_cast<size_t>(*layers) << 20);
        if (buffer) return buffer;
    }
    return nullptr;
}

}  // namespace

int main() {
    int layers = 0;
    ggml_backend_cuda_buffer_context* buffer = load_layers(&layers);
    if (!buffer) {
        std::fprintf(stderr, "no layer fits into the memory of the device\n");
        return 1;
    }
    cudaStream_t stream = nullptr;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ggml_cuda_compute_forward(buffer, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaStreamDestroy(stream));
    delete buffer;
    std::printf("computed with %d layers\n", layers);
    return 0;
}
