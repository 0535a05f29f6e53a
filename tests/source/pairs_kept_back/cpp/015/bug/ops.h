#pragma once
#include <cuda_runtime.h>

#define OPS_CHK(x) ops_check((x), #x, __LINE__)
void ops_check(cudaError_t e, const char *what, int line);

struct reduce_ws {
    float  *part;
    size_t  n;
};

/* Makes sure that ws is large enough for rows of n values. */
void ops_reserve(struct reduce_ws *ws, size_t n);
void ops_rms(struct reduce_ws *ws, float *x, size_t n, cudaStream_t s);
void ops_scale(float *x, size_t n, float k, cudaStream_t s);
void ops_free(struct reduce_ws *ws);
