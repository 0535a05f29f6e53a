#include "linalg.h"
#include <stdio.h>

/* Conjugate gradients on a 2D Poisson stencil, residual history kept on the device. */

__global__ void stencil(const double *p, double *q, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny)
        return;
    int k = j * nx + i;
    double v = 4.0 * p[k];
    if (i > 0) v -= p[k - 1];
    if (i < nx - 1) v -= p[k + 1];
    if (j > 0) v -= p[k - nx];
    if (j < ny - 1) v -= p[k + nx];
    q[k] = v;
}

/* x: start value and result; r: right hand side, overwritten by the residual.
 * d_history: maxit doubles. Returns the number of iterations, -1 on error. */
int poisson_cg(cublasHandle_t h, int nx, int ny, double *x, double *r, double *d_history,
               int maxit, double tol)
{
    const int n = nx * ny;
    double *p = NULL, *q = NULL;
    double rr, pq, rr_new;
    dim3 b(32, 8), g((nx + 31) / 32, (ny + 7) / 8);
    int it = 0, rc = -1;

    if (cudaMalloc((void **)&p, n * sizeof(double)) != cudaSuccess)
        goto out;
    if (cudaMalloc((void **)&q, n * sizeof(double)) != cudaSuccess)
        goto out;

    stencil<<<g, b>>>(x, q, nx, ny);
    if (cudaGetLastError() != cudaSuccess)
        goto out;
    if (la_axpy(h, n, -1.0, q, r))
        goto out;
    if (cudaMemcpy(p, r, n * sizeof(double), cudaMemcpyDeviceToDevice) != cudaSuccess)
        goto out;
    if (la_dot(h, n, r, r, &rr))
        goto out;

    for (it = 0; it < maxit && rr > tol * tol; ++it) {
        if (la_dot_dev(h, n, r, r, d_history + it))
            goto out;
        stencil<<<g, b>>>(p, q, nx, ny);
        if (cudaGetLastError() != cudaSuccess)
            goto out;
        if (la_dot(h, n, p, q, &pq))
            goto out;
        if (la_axpy(h, n, rr / pq, p, x) || la_axpy(h, n, -rr / pq, q, r))
            goto out;
        if (la_dot(h, n, r, r, &rr_new))
            goto out;
        if (la_scal(h, n, rr_new / rr, p) || la_axpy(h, n, 1.0, r, p))
            goto out;
        rr = rr_new;
    }
    rc = it;

out:
    if (rc < 0)
        fprintf(stderr, "poisson_cg: failed at iteration %d\n", it);
    cudaFree(q);
    cudaFree(p);
    return rc;
}
