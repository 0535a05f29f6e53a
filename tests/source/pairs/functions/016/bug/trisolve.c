/* y = L \ x for the preconditioner; CSR arrays already live on the device. */
#include <cuda_runtime.h>
#include <cusparse.h>
#include <stdio.h>

struct csr_dev {
    int n;
    int nnz;
    int *rowptr;
    int *col;
    double *val;
};

int lower_solve(cusparseHandle_t h, const struct csr_dev *m, double *x, double *y, int repeat)
{
    cusparseSpMatDescr_t L = NULL;
    cusparseDnVecDescr_t vx = NULL, vy = NULL;
    cusparseSpSVDescr_t sv = NULL;
    cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
    cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT;
    void *work = NULL;
    size_t bytes = 0;
    const double one = 1.0;
    int i, rc = -1;

    if (cusparseCreateCsr(&L, m->n, m->n, m->nnz, m->rowptr, m->col, m->val,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          CUDA_R_64F) != CUSPARSE_STATUS_SUCCESS)
        goto end;
    if (cusparseSpMatSetAttribute(L, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill) !=
            CUSPARSE_STATUS_SUCCESS ||
        cusparseSpMatSetAttribute(L, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag) !=
            CUSPARSE_STATUS_SUCCESS)
        goto end;
    if (cusparseCreateDnVec(&vx, m->n, x, CUDA_R_64F) != CUSPARSE_STATUS_SUCCESS)
        goto end;
    if (cusparseCreateDnVec(&vy, m->n, y, CUDA_R_64F) != CUSPARSE_STATUS_SUCCESS)
        goto end;
    if (cusparseSpSV_createDescr(&sv) != CUSPARSE_STATUS_SUCCESS)
        goto end;

    if (cusparseSpSV_bufferSize(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, L, vx, vy, CUDA_R_64F,
                                CUSPARSE_SPSV_ALG_DEFAULT, sv, &bytes) != CUSPARSE_STATUS_SUCCESS)
        goto end;
    if (cudaMalloc(&work, bytes) != cudaSuccess) {
        work = NULL;
        goto end;
    }
    if (cusparseSpSV_analysis(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, L, vx, vy, CUDA_R_64F,
                              CUSPARSE_SPSV_ALG_DEFAULT, sv, work) != CUSPARSE_STATUS_SUCCESS)
        goto end;
    cudaFree(work);
    work = NULL;

    for (i = 0; i < repeat; ++i) {
        if (cusparseSpSV_solve(h, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, L, vx, vy, CUDA_R_64F,
                               CUSPARSE_SPSV_ALG_DEFAULT, sv) != CUSPARSE_STATUS_SUCCESS)
            goto end;
    }
    if (cudaDeviceSynchronize() != cudaSuccess)
        goto end;
    rc = 0;

end:
    if (rc)
        fprintf(stderr, "lower_solve failed (n=%d nnz=%d)\n", m->n, m->nnz);
    if (sv) cusparseSpSV_destroyDescr(sv);
    if (work) cudaFree(work);
    if (vy) cusparseDestroyDnVec(vy);
    if (vx) cusparseDestroyDnVec(vx);
    if (L) cusparseDestroySpMat(L);
    return rc;
}
