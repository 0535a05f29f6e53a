#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

namespace bench {

#define MUST(cond)                                                        \
    if (!(cond)) {                                                        \
        std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);   \
        std::exit(2);                                                     \
    }

class DeviceBytes {
public:
    DeviceBytes() = default;
    explicit DeviceBytes(size_t n) : n_(n) { MUST(cudaMalloc(&p_, n) == cudaSuccess); }
    ~DeviceBytes() { cudaFree(p_); }
    DeviceBytes(DeviceBytes&& o) noexcept : p_(o.p_), n_(o.n_) { o.p_ = nullptr; o.n_ = 0; }
    DeviceBytes& operator=(DeviceBytes&& o) noexcept
    {
        if (this != &o) {
            cudaFree(p_);
            p_ = o.p_;
            n_ = o.n_;
            o.p_ = nullptr;
            o.n_ = 0;
        }
        return *this;
    }
    DeviceBytes(const DeviceBytes&) = delete;
    DeviceBytes& operator=(const DeviceBytes&) = delete;

    void* get() const { return p_; }
    size_t size() const { return n_; }

private:
    void* p_ = nullptr;
    size_t n_ = 0;
};

class BlasSession {
public:
    BlasSession()
    {
        MUST(cudaStreamCreate(&stream_) == cudaSuccess);
        MUST(cublasCreate(&blas_) == CUBLAS_STATUS_SUCCESS);
        MUST(cublasSetStream(blas_, stream_) == CUBLAS_STATUS_SUCCESS);
    }
    ~BlasSession()
    {
        cudaStreamSynchronize(stream_);
        cublasDestroy(blas_);
        cudaStreamDestroy(stream_);
    }
    BlasSession(const BlasSession&) = delete;
    BlasSession& operator=(const BlasSession&) = delete;

    // Fixed workspace so that numbers are comparable between runs.
    void useWorkspace(size_t bytes)
    {
        MUST(cudaStreamSynchronize(stream_) == cudaSuccess);
        DeviceBytes ws(bytes);
        MUST(cublasSetWorkspace(blas_, ws.get(), ws.size()) == CUBLAS_STATUS_SUCCESS);
        ws_ = static_cast<DeviceBytes&&>(ws);
    }

    float timeGemm(int n, const float* a, const float* b, float* c, int reps)
    {
        const float one = 1.f, zero = 0.f;
        cudaEvent_t t0, t1;
        MUST(cudaEventCreate(&t0) == cudaSuccess);
        MUST(cudaEventCreate(&t1) == cudaSuccess);
        MUST(cudaEventRecord(t0, stream_) == cudaSuccess);
        for (int i = 0; i < reps; ++i)
            MUST(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n) ==
                 CUBLAS_STATUS_SUCCESS);
        MUST(cudaEventRecord(t1, stream_) == cudaSuccess);
        MUST(cudaEventSynchronize(t1) == cudaSuccess);
        float ms = 0;
        MUST(cudaEventElapsedTime(&ms, t0, t1) == cudaSuccess);
        cudaEventDestroy(t0);
        cudaEventDestroy(t1);
        return ms / reps;
    }

private:
    cudaStream_t stream_ = nullptr;
    cublasHandle_t blas_ = nullptr;
    DeviceBytes ws_;
};

} // namespace bench

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 2048;
    const size_t bytes = sizeof(float) * n * n;
    bench::DeviceBytes a(bytes), b(bytes), c(bytes);
    MUST(cudaMemset(a.get(), 0, bytes) == cudaSuccess);
    MUST(cudaMemset(b.get(), 0, bytes) == cudaSuccess);
    bench::BlasSession s;
    s.useWorkspace(32u << 20);
    std::printf("%d: %.3f ms\n", n, s.timeGemm(n, (float*)a.get(), (float*)b.get(), (float*)c.get(), 20));
    return 0;
}
