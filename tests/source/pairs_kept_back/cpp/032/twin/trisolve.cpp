#include "trisolve.hpp"

#include <cstdio>
#include <cstdlib>

namespace fem {

namespace {
void sp(cusparseStatus_t s, int line) {
    if (s != CUSPARSE_STATUS_SUCCESS) {
        std::fprintf(stderr, "trisolve.cpp:%d: %s\n", line, cusparseGetErrorString(s));
        std::abort();
    }
}
void rt(cudaError_t s, int line) {
    if (s != cudaSuccess) {
        std::fprintf(stderr, "trisolve.cpp:%d: %s\n", line, cudaGetErrorString(s));
        std::abort();
    }
}
const double kOne = 1.0;
}  // namespace

#define SP(x) sp((x), __LINE__)
#define RT(x) rt((x), __LINE__)

LowerSolver::LowerSolver(cusparseHandle_t handle, const CsrView& m, double* rhs, double* sol)
    : handle_(handle) {
    SP(cusparseCreateCsr(&mat_, m.n, m.n, m.nnz, m.row_ptr, m.col, m.val, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
    cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT;
    SP(cusparseSpMatSetAttribute(mat_, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    SP(cusparseSpMatSetAttribute(mat_, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag));
    SP(cusparseCreateDnVec(&b_, m.n, rhs, CUDA_R_64F));
    SP(cusparseCreateDnVec(&x_, m.n, sol, CUDA_R_64F));
    SP(cusparseSpSV_createDescr(&sv_));

    size_t bytes = 0;
    SP(cusparseSpSV_bufferSize(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &kOne, mat_, b_, x_,
                               CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, sv_, &bytes));
    RT(cudaMalloc(&buffer_, bytes));
    SP(cusparseSpSV_analysis(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &kOne, mat_, b_, x_,
                             CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, sv_, buffer_));
}

LowerSolver::~LowerSolver() {
    cudaStream_t s = nullptr;
    cusparseGetStream(handle_, &s);
    cudaStreamSynchronize(s);
    cusparseSpSV_destroyDescr(sv_);
    cusparseDestroyDnVec(x_);
    cusparseDestroyDnVec(b_);
    cusparseDestroySpMat(mat_);
    cudaFree(buffer_);
}

void LowerSolver::solve() {
    SP(cusparseSpSV_solve(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &kOne, mat_, b_, x_,
                          CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, sv_));
}

}  // namespace fem
