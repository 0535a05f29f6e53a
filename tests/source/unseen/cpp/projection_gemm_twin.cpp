#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

namespace {

void fail(const char* lib, int code, int line) {
    std::fprintf(stderr, "%s error %d at line %d\n", lib, code, line);
    std::exit(3);
}

#define RT(x) do { cudaError_t c_ = (x); if (c_ != cudaSuccess) fail("cuda", c_, __LINE__); } while (0)
#define BL(x) do { cublasStatus_t c_ = (x); if (c_ != CUBLAS_STATUS_SUCCESS) fail("cublas", c_, __LINE__); } while (0)

constexpr int kDim = 256;
constexpr size_t kBytes = sizeof(float) * kDim * kDim;

struct Matrices {
    float *a, *b, *c;
};

}  // namespace

int main() {
    cudaStream_t stream;
    RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    cublasHandle_t blas;
    BL(cublasCreate(&blas));
    BL(cublasSetStream(blas, stream));

    Matrices host{}, dev{};
    for (float** p : {&host.a, &host.b, &host.c}) RT(cudaMallocHost((void**)p, kBytes));
    for (float** p : {&dev.a, &dev.b, &dev.c}) RT(cudaMalloc((void**)p, kBytes));
    for (int i = 0; i < kDim * kDim; ++i) {
        host.a[i] = 0.001f * i;
        host.b[i] = (i % (kDim + 1)) == 0 ? 1.0f : 0.0f;
    }

    const float one = 1.0f, zero = 0.0f;
    for (int round = 0; round < 4; ++round) {
        RT(cudaMemcpyAsync(dev.a, host.a, kBytes, cudaMemcpyHostToDevice, stream));
        RT(cudaMemcpyAsync(dev.b, host.b, kBytes, cudaMemcpyHostToDevice, stream));
        BL(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, kDim, kDim, kDim, &one, dev.a, kDim,
                       dev.b, kDim, &zero, dev.c, kDim));
        RT(cudaMemcpyAsync(host.c, dev.c, kBytes, cudaMemcpyDeviceToHost, stream));
        RT(cudaStreamSynchronize(stream));
        std::printf("round %d: c[1]=%f\n", round, host.c[1]);
    }

    for (float* p : {dev.a, dev.b, dev.c}) RT(cudaFree(p));
    for (float* p : {host.a, host.b, host.c}) RT(cudaFreeHost(p));
    BL(cublasDestroy(blas));
    RT(cudaStreamDestroy(stream));
    return 0;
}
