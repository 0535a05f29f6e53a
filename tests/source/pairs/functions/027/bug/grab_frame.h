#ifndef GRAB_FRAME_H
#define GRAB_FRAME_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdlib.h>

struct grab_frame {
    unsigned char *pixels;
    size_t bytes;
    long seq;
};

/* Page-locked frame for the grabber's DMA and the GPU upload. */
static inline struct grab_frame *grab_frame_new(size_t bytes)
{
    struct grab_frame *f = (struct grab_frame *)malloc(sizeof *f);
    if (!f)
        return NULL;
    if (cudaHostAlloc((void **)&f->pixels, bytes, cudaHostAllocPortable) != cudaSuccess) {
        free(f);
        return NULL;
    }
    f->bytes = bytes;
    f->seq = 0;
    return f;
}

static inline void grab_frame_delete(struct grab_frame *f)
{
    if (f) {
        cudaFreeHost(f->pixels);
        free(f);
    }
}

#endif
