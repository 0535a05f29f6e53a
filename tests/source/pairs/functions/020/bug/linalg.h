#ifndef SOLVER_LINALG_H
#define SOLVER_LINALG_H

#include <cublas_v2.h>
#include <cuda_runtime.h>

/* Thin layer over cuBLAS for the pressure solver. Scalars are host values unless the
 * name ends in _dev. All functions return 0 or -1. */

static inline int la_axpy(cublasHandle_t h, int n, double a, const double *x, double *y)
{
    return cublasDaxpy(h, n, &a, x, 1, y, 1) == CUBLAS_STATUS_SUCCESS ? 0 : -1;
}

static inline int la_scal(cublasHandle_t h, int n, double a, double *x)
{
    return cublasDscal(h, n, &a, x, 1) == CUBLAS_STATUS_SUCCESS ? 0 : -1;
}

static inline int la_dot(cublasHandle_t h, int n, const double *x, const double *y, double *out)
{
    return cublasDdot(h, n, x, 1, y, 1, out) == CUBLAS_STATUS_SUCCESS ? 0 : -1;
}

/* The result stays on the device: no synchronisation with the host. */
static inline int la_dot_dev(cublasHandle_t h, int n, const double *x, const double *y,
                             double *d_out)
{
    if (cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE) != CUBLAS_STATUS_SUCCESS)
        return -1;
    return cublasDdot(h, n, x, 1, y, 1, d_out) == CUBLAS_STATUS_SUCCESS ? 0 : -1;
}

#endif
