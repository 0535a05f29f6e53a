#include "progress.h"

static void CUDART_CB on_stream(void *arg)
{
    progress_note *n = (progress_note *)arg;
    n->fn(n->done, n->total, n->user);
}

int progress_post(cudaStream_t s, progress_fn fn, void *user, int done, int total)
{
    progress_note n;

    n.fn = fn;
    n.user = user;
    n.done = done;
    n.total = total;

    return (int)cudaLaunchHostFunc(s, on_stream, &n);
}
