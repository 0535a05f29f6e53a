#include "ops.h"

#include <stdio.h>
#include <stdlib.h>

#define BLK 256

void ops_check(cudaError_t e, const char *what, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "ops:%d: %s: %s\n", line, what, cudaGetErrorString(e));
        exit(1);
    }
}

__global__ void k_sumsq(const float *x, size_t n, float *part)
{
    __shared__ float sm[BLK];
    size_t i = blockIdx.x * (size_t)BLK + threadIdx.x;
    sm[threadIdx.x] = i < n ? x[i] * x[i] : 0.f;
    __syncthreads();
    for (int k = BLK / 2; k; k >>= 1) {
        if (threadIdx.x < k) sm[threadIdx.x] += sm[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) part[blockIdx.x] = sm[0];
}

__global__ void k_norm(float *x, size_t n, const float *part, int np)
{
    float s = 0;
    for (int j = 0; j < np; j++) s += part[j];
    size_t i = blockIdx.x * (size_t)BLK + threadIdx.x;
    if (i < n) x[i] *= rsqrtf(s / n + 1e-6f);
}

__global__ void k_scale(float *x, size_t n, float k)
{
    size_t i = blockIdx.x * (size_t)BLK + threadIdx.x;
    if (i < n) x[i] *= k;
}

void ops_reserve(struct reduce_ws *ws, size_t n)
{
    size_t need = (n + BLK - 1) / BLK;
    if (need <= ws->n)
        return;
    OPS_CHK(cudaFree(ws->part));
    OPS_CHK(cudaMalloc((void **)&ws->part, need * sizeof(float)));
    ws->n = need;
}

void ops_rms(struct reduce_ws *ws, float *x, size_t n, cudaStream_t s)
{
    int np = (int)((n + BLK - 1) / BLK);
    ops_reserve(ws, n);
    k_sumsq<<<np, BLK, 0, s>>>(x, n, ws->part);
    k_norm<<<np, BLK, 0, s>>>(x, n, ws->part, np);
    OPS_CHK(cudaGetLastError());
}

void ops_scale(float *x, size_t n, float k, cudaStream_t s)
{
    k_scale<<<(unsigned)((n + BLK - 1) / BLK), BLK, 0, s>>>(x, n, k);
    OPS_CHK(cudaGetLastError());
}

void ops_free(struct reduce_ws *ws)
{
    OPS_CHK(cudaFree(ws->part));
    ws->part = NULL;
    ws->n = 0;
}
