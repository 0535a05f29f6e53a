#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <cstdio>
#include <vector>

// Cholesky factor of a covariance matrix that the risk engine keeps on the GPU.

enum FactorResult {
    FACTOR_OK,
    FACTOR_NOT_PD,
    FACTOR_ERROR
};

class CovFactor {
public:
    CovFactor() : solver_(NULL), work_(NULL), info_(NULL), lwork_(0) {}

    ~CovFactor()
    {
        if (info_) cudaFree(info_);
        if (work_) cudaFree(work_);
        if (solver_) cusolverDnDestroy(solver_);
    }

    bool open()
    {
        if (solver_)
            return true;
        if (cusolverDnCreate(&solver_) != CUSOLVER_STATUS_SUCCESS) {
            solver_ = NULL;
            return false;
        }
        return true;
    }

    // a: n x n, column major, device memory; overwritten by L.
    FactorResult factor(double *a, int n)
    {
        int need = 0;
        int info = 0;

        if (!info_ && cudaMalloc((void **)&info_, sizeof(int)) != cudaSuccess) {
            info_ = NULL;
            return FACTOR_ERROR;
        }
        if (cusolverDnDpotrf_bufferSize(solver_, CUBLAS_FILL_MODE_LOWER, n, a, n, &need) !=
            CUSOLVER_STATUS_SUCCESS)
            return FACTOR_ERROR;
        if (!reserve(need))
            return FACTOR_ERROR;
        if (cusolverDnDpotrf(solver_, CUBLAS_FILL_MODE_LOWER, n, a, n, work_, lwork_, info_) !=
            CUSOLVER_STATUS_SUCCESS)
            return FACTOR_ERROR;
        if (cudaMemcpy(&info, info_, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess)
            return FACTOR_ERROR;
        if (info > 0) {
            std::fprintf(stderr, "leading minor %d not positive\n", info);
            return FACTOR_NOT_PD;
        }
        return info == 0 ? FACTOR_OK : FACTOR_ERROR;
    }

private:
    CovFactor(const CovFactor &);
    CovFactor &operator=(const CovFactor &);

    bool reserve(int need)
    {
        if (need <= lwork_)
            return true;
        if (work_)
            cudaFree(work_);
        work_ = NULL;
        lwork_ = 0;
        if (cudaMalloc((void **)&work_, need * sizeof(double)) != cudaSuccess) {
            work_ = NULL;
            return false;
        }
        lwork_ = need;
        return true;
    }

    cusolverDnHandle_t solver_;
    double *work_;
    int *info_;
    int lwork_;
};

// Factor all books in place; returns how many were not positive definite, -1 on failure.
int factor_books(const std::vector<double *> &books, int n)
{
    CovFactor f;
    int bad = 0;
    if (!f.open())
        return -1;
    for (size_t i = 0; i < books.size(); ++i) {
        FactorResult r = f.factor(books[i], n);
        if (r == FACTOR_ERROR)
            return -1;
        if (r == FACTOR_NOT_PD)
            ++bad;
    }
    return bad;
}
