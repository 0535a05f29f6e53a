#include "lidar_ctx.h"

#include <stdlib.h>
#include <string.h>

int lidar_ctx_create(lidar_ctx **out, size_t max_points)
{
    lidar_ctx *c;
    const size_t bytes = max_points * 4 * sizeof(float);

    *out = NULL;
    c = (lidar_ctx *)calloc(1, sizeof(*c));
    if (!c)
        return -1;
    c->max_points = max_points;

    if (cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking) != cudaSuccess)
        goto fail_ctx;
    if (cudaEventCreateWithFlags(&c->sweep_done, cudaEventDisableTiming) != cudaSuccess)
        goto fail_stream;
    if (cudaMalloc((void **)&c->d_points, bytes) != cudaSuccess)
        goto fail_event;
    if (cudaMallocHost((void **)&c->h_points, bytes) != cudaSuccess)
        goto fail_event;

    *out = c;
    return 0;

fail_event:
    cudaEventDestroy(c->sweep_done);
fail_stream:
    cudaStreamDestroy(c->stream);
fail_ctx:
    free(c);
    return -1;
}

void lidar_ctx_destroy(lidar_ctx *c)
{
    if (!c)
        return;
    cudaStreamSynchronize(c->stream);
    cudaFreeHost(c->h_points);
    cudaFree(c->d_points);
    cudaEventDestroy(c->sweep_done);
    cudaStreamDestroy(c->stream);
    free(c);
}

int lidar_ctx_push(lidar_ctx *c, const float *xyzi, size_t n)
{
    if (n > c->max_points)
        return -1;
    memcpy(c->h_points, xyzi, n * 4 * sizeof(float));
    if (cudaMemcpyAsync(c->d_points, c->h_points, n * 4 * sizeof(float),
                        cudaMemcpyHostToDevice, c->stream) != cudaSuccess)
        return -1;
    if (cudaEventRecord(c->sweep_done, c->stream) != cudaSuccess) {
        cudaStreamSynchronize(c->stream);
        return -1;
    }
    return cudaEventSynchronize(c->sweep_done) == cudaSuccess ? 0 : -1;
}
