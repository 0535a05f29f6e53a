#include "trk_session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t level_bytes(const struct trk_session *s, int level)
{
    return (size_t)(s->width >> level) * (size_t)(s->height >> level);
}

struct trk_session *trk_session_new(int width, int height)
{
    int i;
    struct trk_session *s = (struct trk_session *)malloc(sizeof(*s));
    if (s == NULL)
        return NULL;
    s->width = width;
    s->height = height;

    if (cudaStreamCreate(&s->stream) != cudaSuccess) {
        fprintf(stderr, "trk: no stream\n");
        free(s);
        return NULL;
    }
    for (i = 0; i < TRK_LEVELS; i++) {
        if (cudaMalloc((void **)&s->pyramid[i], level_bytes(s, i)) != cudaSuccess ||
            cudaEventCreateWithFlags(&s->level_done[i], cudaEventDisableTiming) != cudaSuccess) {
            fprintf(stderr, "trk: cannot create level %d\n", i);
            trk_session_free(s);
            return NULL;
        }
    }
    return s;
}

void trk_session_free(struct trk_session *s)
{
    int i;
    if (s == NULL)
        return;
    cudaStreamSynchronize(s->stream);
    for (i = 0; i < TRK_LEVELS; i++) {
        if (s->level_done[i])
            cudaEventDestroy(s->level_done[i]);
        if (s->pyramid[i])
            cudaFree(s->pyramid[i]);
    }
    cudaStreamDestroy(s->stream);
    free(s);
}

int trk_session_load(struct trk_session *s, const uint8_t *luma)
{
    if (cudaMemcpyAsync(s->pyramid[0], luma, level_bytes(s, 0),
                        cudaMemcpyHostToDevice, s->stream) != cudaSuccess)
        return -1;
    if (cudaEventRecord(s->level_done[0], s->stream) != cudaSuccess)
        return -1;
    return cudaStreamSynchronize(s->stream) == cudaSuccess ? 0 : -1;
}
