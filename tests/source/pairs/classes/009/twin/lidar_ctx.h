#ifndef LIDAR_CTX_H
#define LIDAR_CTX_H

#include <stddef.h>
#include <cuda_runtime_api.h>

typedef struct lidar_ctx {
    cudaStream_t stream;
    cudaEvent_t  sweep_done;
    float       *d_points;     /* xyzi */
    float       *h_points;     /* page-locked */
    size_t       max_points;
} lidar_ctx;

#ifdef __cplusplus
extern "C" {
#endif

int  lidar_ctx_create(lidar_ctx **out, size_t max_points);
void lidar_ctx_destroy(lidar_ctx *ctx);

/* copies one sweep; returns after the device copy is complete */
int  lidar_ctx_push(lidar_ctx *ctx, const float *xyzi, size_t n);

#ifdef __cplusplus
}
#endif

#endif
