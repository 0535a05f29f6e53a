#pragma once

#include <cuda_runtime.h>
#include <cusparse.h>

namespace fem {

// Lower triangular CSR matrix on the device, owned by the assembler.
struct CsrView {
    int n;
    int nnz;
    int* row_ptr;
    int* col;
    double* val;
};

// Forward substitution with a fixed matrix: analysed once, solved for each CG iteration.
class LowerSolver {
public:
    LowerSolver(cusparseHandle_t handle, const CsrView& m, double* rhs, double* sol);
    ~LowerSolver();
    LowerSolver(const LowerSolver&) = delete;
    LowerSolver& operator=(const LowerSolver&) = delete;

    void solve();

private:
    cusparseHandle_t handle_;
    cusparseSpMatDescr_t mat_ = nullptr;
    cusparseDnVecDescr_t b_ = nullptr, x_ = nullptr;
    cusparseSpSVDescr_t sv_ = nullptr;
};

}  // namespace fem
