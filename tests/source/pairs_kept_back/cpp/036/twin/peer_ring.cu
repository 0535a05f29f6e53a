#include "peer_ring.h"

#include <stdio.h>
#include <stdlib.h>

#define TRY(x, label)                                                          \
    do {                                                                       \
        cudaError_t e_ = (x);                                                  \
        if (e_ != cudaSuccess) {                                               \
            fprintf(stderr, "pipe: %s: %s\n", #x, cudaGetErrorString(e_));     \
            goto label;                                                        \
        }                                                                      \
    } while (0)

__global__ void dense(const float *in, float *out, size_t n, float w)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = fmaxf(0.f, in[i] * w + 0.1f);
}

void pipe_close(struct pipeline *p)
{
    for (int i = 0; i < p->nstages; i++) {
        struct stage *s = &p->st[i];
        if (cudaSetDevice(s->dev) != cudaSuccess) continue;
        if (s->stream) cudaStreamSynchronize(s->stream);
        cudaFree(s->in);
        cudaFree(s->out);
        if (s->done) cudaEventDestroy(s->done);
        if (s->stream) cudaStreamDestroy(s->stream);
    }
    free(p->st);
    p->st = NULL;
    p->nstages = 0;
}

int pipe_open(struct pipeline *p, int nstages, size_t n)
{
    int have = 0;
    p->nstages = 0;
    p->n = n;
    p->st = NULL;
    TRY(cudaGetDeviceCount(&have), bad);
    if (nstages < 1 || nstages > have) return -1;
    p->st = (struct stage *)calloc(nstages, sizeof *p->st);
    if (!p->st) return -1;

    for (int i = 0; i < nstages; i++) {
        struct stage *s = &p->st[i];
        s->dev = i;
        p->nstages = i + 1;
        TRY(cudaSetDevice(i), bad);
        TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking), bad);
        TRY(cudaEventCreateWithFlags(&s->done, cudaEventDisableTiming), bad);
        TRY(cudaMalloc((void **)&s->in, n * sizeof(float)), bad);
        TRY(cudaMalloc((void **)&s->out, n * sizeof(float)), bad);
    }
    return 0;
bad:
    pipe_close(p);
    return -1;
}

/* src and dst are pinned; returns when dst is filled */
int pipe_run(struct pipeline *p, const float *src, float *dst)
{
    const size_t bytes = p->n * sizeof(float);
    struct stage *last = &p->st[p->nstages - 1];

    for (int i = 0; i < p->nstages; i++) {
        struct stage *s = &p->st[i];
        TRY(cudaSetDevice(s->dev), bad);
        if (i == 0) {
            TRY(cudaMemcpyAsync(s->in, src, bytes, cudaMemcpyHostToDevice, s->stream), bad);
        } else {
            struct stage *prev = &p->st[i - 1];
            TRY(cudaStreamWaitEvent(s->stream, prev->done, 0), bad);
            TRY(cudaMemcpyPeerAsync(s->in, s->dev, prev->out, prev->dev, bytes, s->stream), bad);
        }
        dense<<<(unsigned)((p->n + 255) / 256), 256, 0, s->stream>>>(s->in, s->out, p->n, 0.9f);
        TRY(cudaGetLastError(), bad);
        TRY(cudaEventRecord(s->done, s->stream), bad);
    }
    TRY(cudaMemcpyAsync(dst, last->out, bytes, cudaMemcpyDeviceToHost, last->stream), bad);
    TRY(cudaStreamSynchronize(last->stream), bad);
    return 0;
bad:
    for (int i = 0; i < p->nstages; i++) cudaStreamSynchronize(p->st[i].stream);
    return -1;
}
