#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <functional>
#include <stdexcept>

namespace fem {

inline void cuOk(cudaError_t e) { if (e) throw std::runtime_error(cudaGetErrorString(e)); }
inline void blasOk(cublasStatus_t s) { if (s) throw std::runtime_error(cublasGetStatusString(s)); }

// y = A x, queued on the stream of the handle
using ApplyFn = std::function<void(const double* x, double* y)>;

class CgSolver {
public:
    CgSolver(cublasHandle_t blas, int n) : blas_(blas), n_(n)
    {
        try {
            cuOk(cudaMalloc(&r_, n * sizeof(double)));
            cuOk(cudaMalloc(&p_, n * sizeof(double)));
            cuOk(cudaMalloc(&q_, n * sizeof(double)));
            cuOk(cudaMalloc(&dots_, 2 * sizeof(double)));
        } catch (...) {
            freeAll();
            throw;
        }
    }
    ~CgSolver() { freeAll(); }
    CgSolver(const CgSolver&) = delete;
    CgSolver& operator=(const CgSolver&) = delete;

    int solve(const ApplyFn& A, const double* b, double* x, double tol, int maxIter)
    {
        const double minusOne = -1.0, one = 1.0;
        blasOk(cublasDcopy(blas_, n_, b, 1, r_, 1));
        A(x, q_);
        blasOk(cublasDaxpy(blas_, n_, &minusOne, q_, 1, r_, 1));
        blasOk(cublasDcopy(blas_, n_, r_, 1, p_, 1));

        double rr = 0, unused = 0;
        dotPair(r_, r_, r_, r_, rr, unused);
        int it = 0;
        for (; it < maxIter && std::sqrt(rr) > tol; ++it) {
            A(p_, q_);
            double pq = 0, rz = 0;
            dotPair(p_, q_, r_, r_, pq, rz);
            const double alpha = rz / pq, nalpha = -alpha;
            blasOk(cublasDaxpy(blas_, n_, &alpha, p_, 1, x, 1));
            blasOk(cublasDaxpy(blas_, n_, &nalpha, q_, 1, r_, 1));
            double rrNew = 0;
            dotPair(r_, r_, r_, r_, rrNew, unused);
            const double beta = rrNew / rr;
            blasOk(cublasDscal(blas_, n_, &beta, p_, 1));
            blasOk(cublasDaxpy(blas_, n_, &one, r_, 1, p_, 1));
            rr = rrNew;
        }
        return it;
    }

private:
    // two reductions, one trip to the host
    void dotPair(const double* a, const double* b, const double* c, const double* d,
                 double& ab, double& cd)
    {
        blasOk(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE));
        const cublasStatus_t s1 = cublasDdot(blas_, n_, a, 1, b, 1, dots_);
        const cublasStatus_t s2 = cublasDdot(blas_, n_, c, 1, d, 1, dots_ + 1);
        blasOk(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_HOST));
        blasOk(s1);
        blasOk(s2);
        cudaStream_t s = nullptr;
        blasOk(cublasGetStream(blas_, &s));
        double h[2];
        cuOk(cudaMemcpyAsync(h, dots_, sizeof(h), cudaMemcpyDeviceToHost, s));
        cuOk(cudaStreamSynchronize(s));
        ab = h[0];
        cd = h[1];
    }

    void freeAll()
    {
        cudaFree(r_);
        cudaFree(p_);
        cudaFree(q_);
        cudaFree(dots_);
    }

    cublasHandle_t blas_;
    int n_;
    double *r_ = nullptr, *p_ = nullptr, *q_ = nullptr, *dots_ = nullptr;
};

} // namespace fem
