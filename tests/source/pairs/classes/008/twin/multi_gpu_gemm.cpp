#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void rt(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
        std::exit(1);
    }
}
static void bl(cublasStatus_t s, int line)
{
    if (s != CUBLAS_STATUS_SUCCESS) {
        std::fprintf(stderr, "line %d: cublas status %d\n", line, (int)s);
        std::exit(1);
    }
}
#define RT(x) rt((x), __LINE__)
#define BL(x) bl((x), __LINE__)

class BlasCache {
public:
    explicit BlasCache(int devices) : handles_(devices, nullptr) {}
    ~BlasCache() { clear(); }
    BlasCache(const BlasCache&) = delete;
    BlasCache& operator=(const BlasCache&) = delete;

    void clear()
    {
        for (size_t d = 0; d < handles_.size(); ++d)
            if (handles_[d]) {
                cudaSetDevice((int)d);
                cublasDestroy(handles_[d]);
                handles_[d] = nullptr;
            }
    }

    // handle for the calling thread's current device
    cublasHandle_t get()
    {
        int dev = 0;
        RT(cudaGetDevice(&dev));
        cublasHandle_t& h = handles_[dev];
        if (!h) BL(cublasCreate(&h));
        return h;
    }

private:
    std::vector<cublasHandle_t> handles_;
};

struct Shard {
    int device = 0;
    cudaStream_t stream = nullptr;
    float *a = nullptr, *b = nullptr, *c = nullptr;
};

class ShardedGemm {
public:
    ShardedGemm(int n, int devices) : n_(n), shards_(devices), blas_(devices)
    {
        const size_t bytes = sizeof(float) * n * n;
        for (int d = 0; d < devices; ++d) {
            Shard& s = shards_[d];
            s.device = d;
            RT(cudaSetDevice(d));
            RT(cudaStreamCreate(&s.stream));
            RT(cudaMalloc(&s.a, bytes));
            RT(cudaMalloc(&s.b, bytes));
            RT(cudaMalloc(&s.c, bytes));
        }
    }
    ~ShardedGemm()
    {
        for (Shard& s : shards_) {
            cudaSetDevice(s.device);
            cudaStreamSynchronize(s.stream);
        }
        blas_.clear();
        for (Shard& s : shards_) {
            cudaSetDevice(s.device);
            cudaFree(s.a);
            cudaFree(s.b);
            cudaFree(s.c);
            cudaStreamDestroy(s.stream);
        }
    }
    ShardedGemm(const ShardedGemm&) = delete;
    ShardedGemm& operator=(const ShardedGemm&) = delete;

    void load(int d, const float* a, const float* b)
    {
        const size_t bytes = sizeof(float) * n_ * n_;
        RT(cudaSetDevice(d));
        RT(cudaMemcpyAsync(shards_[d].a, a, bytes, cudaMemcpyHostToDevice, shards_[d].stream));
        RT(cudaMemcpyAsync(shards_[d].b, b, bytes, cudaMemcpyHostToDevice, shards_[d].stream));
    }

    void multiply()
    {
        const float one = 1.f, zero = 0.f;
        for (Shard& s : shards_) {
            RT(cudaSetDevice(s.device));
            cublasHandle_t h = blas_.get();
            BL(cublasSetStream(h, s.stream));
            BL(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n_, n_, n_, &one, s.a, n_, s.b, n_, &zero, s.c, n_));
        }
        for (Shard& s : shards_) {
            RT(cudaSetDevice(s.device));
            RT(cudaStreamSynchronize(s.stream));
        }
    }

    void fetch(int d, float* c)
    {
        RT(cudaSetDevice(d));
        RT(cudaMemcpy(c, shards_[d].c, sizeof(float) * n_ * n_, cudaMemcpyDeviceToHost));
    }

private:
    int n_;
    std::vector<Shard> shards_;
    BlasCache blas_;
};
