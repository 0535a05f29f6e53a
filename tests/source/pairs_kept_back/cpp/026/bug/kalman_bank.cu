#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <utility>
#include <vector>

// Bank of radar tracks, predicted together: X <- F * X, then noise is added by a kernel.
// All work of the bank is put on the stream that the caller passes.

struct TrackError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void need(bool b, const char* m) {
    if (!b) throw TrackError(m);
}

class DevVec {
public:
    explicit DevVec(size_t n) : n_(n) {
        need(cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(double)) == cudaSuccess, "DevVec");
    }
    ~DevVec() { cudaFree(p_); }
    DevVec(const DevVec&) = delete;
    DevVec& operator=(const DevVec&) = delete;
    void swap(DevVec& o) {
        std::swap(p_, o.p_);
        std::swap(n_, o.n_);
    }
    double* get() { return p_; }
    size_t size() const { return n_; }

private:
    double* p_ = nullptr;
    size_t n_;
};

__global__ void jitter(double* x, size_t n, double q, unsigned step) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    unsigned h = unsigned(i) * 2654435761u ^ step * 40503u;
    x[i] += q * (double(h >> 8) / (1 << 24) - 0.5);
}

class Blas {
public:
    Blas() { need(cublasCreate(&h_) == CUBLAS_STATUS_SUCCESS, "cublasCreate"); }
    ~Blas() { cublasDestroy(h_); }
    Blas(const Blas&) = delete;
    Blas& operator=(const Blas&) = delete;
    operator cublasHandle_t() const { return h_; }

private:
    cublasHandle_t h_ = nullptr;
};

class Stream {
public:
    Stream() {
        need(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking) == cudaSuccess, "stream create");
    }
    ~Stream() { cudaStreamDestroy(s_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return s_; }

private:
    cudaStream_t s_ = nullptr;
};

class TrackBank {
public:
    TrackBank(int states, int tracks)
        : s_(states), t_(tracks), f_(size_t(states) * states), x_(size_t(states) * tracks),
          tmp_(size_t(states) * tracks) {}

    void load(const std::vector<double>& f, const std::vector<double>& x) {
        need(f.size() == f_.size() && x.size() == x_.size(), "load: size");
        need(cudaMemcpy(f_.get(), f.data(), f.size() * sizeof(double), cudaMemcpyHostToDevice) ==
                 cudaSuccess, "load F");
        need(cudaMemcpy(x_.get(), x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice) ==
                 cudaSuccess, "load X");
        need(cudaDeviceSynchronize() == cudaSuccess, "load");
    }

    void predict(cudaStream_t stream, double q, unsigned step) {
        const double one = 1.0, zero = 0.0;
        jitter<<<unsigned((x_.size() + 255) / 256), 256, 0, stream>>>(x_.get(), x_.size(), q, step);
        need(cudaGetLastError() == cudaSuccess, "jitter");
        need(cublasDgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, s_, t_, s_, &one, f_.get(), s_, x_.get(),
                         s_, &zero, tmp_.get(), s_) == CUBLAS_STATUS_SUCCESS, "gemm");
        x_.swap(tmp_);
    }

    std::vector<double> state(cudaStream_t stream) {
        std::vector<double> out(x_.size());
        need(cudaMemcpyAsync(out.data(), x_.get(), out.size() * sizeof(double),
                             cudaMemcpyDeviceToHost, stream) == cudaSuccess, "state");
        need(cudaStreamSynchronize(stream) == cudaSuccess, "state sync");
        return out;
    }

private:
    int s_, t_;
    Blas blas_;
    DevVec f_, x_, tmp_;
};

std::vector<double> run_bank(const std::vector<double>& f, const std::vector<double>& x0, int states,
                             int steps) {
    Stream s;
    TrackBank bank(states, int(x0.size()) / states);
    bank.load(f, x0);
    for (int k = 0; k < steps; ++k) bank.predict(s, 1e-4, unsigned(k));
    return bank.state(s);
}
