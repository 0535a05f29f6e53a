#include "grab_frame.h"

#include <stdio.h>
#include <string.h>

#define RING 8

struct recorder {
    struct grab_frame *ring[RING];
    unsigned char *dev;
    size_t slot_bytes;
    cudaStream_t stream;
    FILE *src;
    long dropped;
};

void recorder_close(struct recorder *r)
{
    int i;
    if (!r)
        return;
    if (r->stream) {
        cudaStreamSynchronize(r->stream);
        cudaStreamDestroy(r->stream);
    }
    cudaFree(r->dev);
    for (i = 0; i < RING; ++i)
        grab_frame_delete(r->ring[i]);
    if (r->src)
        fclose(r->src);
    free(r);
}

struct recorder *recorder_open(const char *path, size_t frame_bytes)
{
    struct recorder *r = (struct recorder *)calloc(1, sizeof *r);
    int i;
    if (!r)
        return NULL;
    r->slot_bytes = frame_bytes;
    r->src = fopen(path, "rb");
    if (!r->src)
        goto fail;
    for (i = 0; i < RING; ++i)
        if (!(r->ring[i] = grab_frame_new(frame_bytes)))
            goto fail;
    if (cudaMalloc((void **)&r->dev, frame_bytes * RING) != cudaSuccess)
        goto fail;
    if (cudaStreamCreate(&r->stream) != cudaSuccess)
        goto fail;
    return r;
fail:
    recorder_close(r);
    return NULL;
}

/* Change of resolution: a slot gets a frame of another size. */
int recorder_resize_slot(struct recorder *r, int slot, size_t bytes)
{
    struct grab_frame *f, *old = r->ring[slot];

    if (bytes > r->slot_bytes)
        return -1;
    f = grab_frame_new(bytes);
    if (!f)
        return -1;
    if (cudaStreamSynchronize(r->stream) != cudaSuccess) {
        grab_frame_delete(f);
        return -1;
    }
    f->seq = old->seq;
    grab_frame_delete(old);
    r->ring[slot] = f;
    return 0;
}

/* Fills the ring and uploads it; returns the number of frames, 0 at the end. */
int recorder_burst(struct recorder *r)
{
    int i;
    for (i = 0; i < RING; ++i) {
        struct grab_frame *f = r->ring[i];
        if (fread(f->pixels, 1, f->bytes, r->src) != f->bytes)
            break;
        f->seq++;
        if (cudaMemcpyAsync(r->dev + (size_t)i * r->slot_bytes, f->pixels, f->bytes,
                            cudaMemcpyHostToDevice, r->stream) != cudaSuccess) {
            r->dropped++;
            break;
        }
    }
    return cudaStreamSynchronize(r->stream) == cudaSuccess ? i : -1;
}
