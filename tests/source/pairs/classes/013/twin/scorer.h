#pragma once
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdexcept>

namespace rec {

#define REC_CUDA(x) do { if ((x) != cudaSuccess) throw std::runtime_error("cuda: " #x); } while (0)
#define REC_BLAS(x) do { if ((x) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublas: " #x); } while (0)

// Item embedding table shared read-only by all workers.
struct Catalog {
    const float* d_items = nullptr;   // dim x items, column major
    int dim = 0;
    int items = 0;
};

class BlasHandle {
public:
    BlasHandle() { REC_BLAS(cublasCreate(&h_)); }
    ~BlasHandle() { cublasDestroy(h_); }
    BlasHandle(const BlasHandle&) = delete;
    BlasHandle& operator=(const BlasHandle&) = delete;
    cublasHandle_t get() const { return h_; }
private:
    cublasHandle_t h_ = nullptr;
};

class Scorer {
public:
    Scorer(const Catalog& cat, const BlasHandle& blas) : cat_(cat), blas_(blas)
    {
        REC_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        if (cudaMalloc(&user_, cat.dim * sizeof(float)) != cudaSuccess ||
            cudaMalloc(&scores_, cat.items * sizeof(float)) != cudaSuccess) {
            cudaFree(user_);
            cudaStreamDestroy(stream_);
            throw std::runtime_error("scorer buffers");
        }
    }
    ~Scorer()
    {
        cudaStreamSynchronize(stream_);
        cudaFree(user_);
        cudaFree(scores_);
        cudaStreamDestroy(stream_);
    }
    Scorer(const Scorer&) = delete;
    Scorer& operator=(const Scorer&) = delete;

    void score(const float* user, float* out)
    {
        const float a = 1.f, b = 0.f;
        REC_CUDA(cudaMemcpyAsync(user_, user, cat_.dim * sizeof(float), cudaMemcpyHostToDevice, stream_));
        REC_BLAS(cublasSetStream(blas_.get(), stream_));
        REC_BLAS(cublasSgemv(blas_.get(), CUBLAS_OP_T, cat_.dim, cat_.items, &a,
                             cat_.d_items, cat_.dim, user_, 1, &b, scores_, 1));
        REC_CUDA(cudaMemcpyAsync(out, scores_, cat_.items * sizeof(float), cudaMemcpyDeviceToHost, stream_));
        REC_CUDA(cudaStreamSynchronize(stream_));
    }

private:
    const Catalog& cat_;
    const BlasHandle& blas_;
    cudaStream_t stream_ = nullptr;
    float* user_ = nullptr;
    float* scores_ = nullptr;
};

} // namespace rec
