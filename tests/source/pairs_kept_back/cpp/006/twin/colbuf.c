#include "colbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct colbuf *colbuf_new(const char *name, size_t elem, size_t cap)
{
    struct colbuf *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    snprintf(c->name, sizeof c->name, "%s", name);
    c->elem = elem;
    c->cap = cap;
    if (cudaHostAlloc(&c->stage, elem * cap, cudaHostAllocPortable) != cudaSuccess) {
        free(c);
        return NULL;
    }
    if (cudaMalloc(&c->dev, elem * cap) != cudaSuccess) {
        cudaFreeHost(c->stage);
        free(c);
        return NULL;
    }
    return c;
}

int colbuf_push(struct colbuf *c, const void *value)
{
    if (c->rows == c->cap)
        return -1;
    memcpy((char *)c->stage + c->rows * c->elem, value, c->elem);
    c->rows++;
    return 0;
}

/* Blocks until the rows are on the device, so that the parser may go on. */
int colbuf_flush(struct colbuf *c, cudaStream_t s)
{
    cudaError_t e = cudaMemcpyAsync(c->dev, c->stage, c->rows * c->elem,
                                    cudaMemcpyHostToDevice, s);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(s);
    if (e != cudaSuccess) {
        fprintf(stderr, "column %s: %s\n", c->name, cudaGetErrorString(e));
        return -1;
    }
    c->rows = 0;
    return 0;
}

void colbuf_del(struct colbuf *c)
{
    if (!c)
        return;
    cudaFree(c->dev);
    cudaFreeHost(c->stage);
    free(c);
}
