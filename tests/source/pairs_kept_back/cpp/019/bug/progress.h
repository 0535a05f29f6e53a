#ifndef TOMO_PROGRESS_H
#define TOMO_PROGRESS_H

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*progress_fn)(int done, int total, void *user);

typedef struct progress_note {
    progress_fn fn;
    void       *user;
    int         done;
    int         total;
} progress_note;

/* Queues a call of fn behind the work of s; returns 0 or a CUDA error code. */
int progress_post(cudaStream_t s, progress_fn fn, void *user, int done, int total);

#ifdef __cplusplus
}
#endif
#endif
