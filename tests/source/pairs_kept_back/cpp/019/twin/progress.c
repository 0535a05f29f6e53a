#include "progress.h"

#include <stdlib.h>

static void CUDART_CB on_stream(void *arg)
{
    progress_note *n = (progress_note *)arg;
    n->fn(n->done, n->total, n->user);
    free(n);
}

int progress_post(cudaStream_t s, progress_fn fn, void *user, int done, int total)
{
    progress_note *n = (progress_note *)malloc(sizeof *n);
    cudaError_t e;

    if (!n)
        return (int)cudaErrorMemoryAllocation;
    n->fn = fn;
    n->user = user;
    n->done = done;
    n->total = total;

    e = cudaLaunchHostFunc(s, on_stream, n);
    if (e != cudaSuccess)
        free(n);
    return (int)e;
}
