#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

// Brute force similarity: the table is row-major [rows x dim] on the device and every
// worker thread answers a slice of the queries.

struct Table {
    const float* rows_dev = nullptr;
    int rows = 0;
    int dim = 0;
};

static void cu(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }
static void cb(cublasStatus_t s) { if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(s)); }

struct Stream {
    cudaStream_t s = nullptr;
    Stream() { cu(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamSynchronize(s); cudaStreamDestroy(s); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
};

struct Blas {
    cublasHandle_t h = nullptr;
    Blas() { cb(cublasCreate(&h)); }
    ~Blas() { cublasDestroy(h); }
    Blas(const Blas&) = delete;
    Blas& operator=(const Blas&) = delete;
};

struct DevFloats {
    float* p = nullptr;
    explicit DevFloats(size_t n) { cu(cudaMalloc(&p, n * sizeof(float))); }
    ~DevFloats() { cudaFree(p); }
    DevFloats(const DevFloats&) = delete;
    DevFloats& operator=(const DevFloats&) = delete;
};

static void answer(const Table& t, cublasHandle_t h, const float* queries, int first, int last, int* best) {
    std::vector<float> host(t.rows);
    Stream st;
    DevFloats q(t.dim), score(t.rows);
    const float one = 1.f, zero = 0.f;

    cb(cublasSetStream(h, st.s));
    for (int i = first; i < last; ++i) {
        cu(cudaMemcpyAsync(q.p, queries + size_t(i) * t.dim, t.dim * sizeof(float),
                           cudaMemcpyHostToDevice, st.s));
        cb(cublasSgemv(h, CUBLAS_OP_T, t.dim, t.rows, &one, t.rows_dev, t.dim, q.p, 1,
                       &zero, score.p, 1));
        cu(cudaMemcpyAsync(host.data(), score.p, t.rows * sizeof(float),
                           cudaMemcpyDeviceToHost, st.s));
        cu(cudaStreamSynchronize(st.s));
        best[i] = int(std::max_element(host.begin(), host.end()) - host.begin());
    }
}

std::vector<int> nearest(const Table& t, const std::vector<float>& queries, int workers) {
    const int n = int(queries.size() / t.dim);
    std::vector<int> best(n, -1);
    std::vector<std::thread> pool;
    std::vector<std::exception_ptr> errors(workers);
    int dev = 0;
    cu(cudaGetDevice(&dev));
    Blas blas;

    for (int w = 0; w < workers; ++w) {
        int lo = int(int64_t(n) * w / workers), hi = int(int64_t(n) * (w + 1) / workers);
        pool.emplace_back([&, w, lo, hi] {
            try {
                cu(cudaSetDevice(dev));
                answer(t, blas.h, queries.data(), lo, hi, best.data());
            } catch (...) {
                errors[w] = std::current_exception();
            }
        });
    }
    for (auto& th : pool) th.join();
    for (auto& e : errors)
        if (e) std::rethrow_exception(e);
    return best;
}
