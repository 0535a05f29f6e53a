#ifndef PEER_RING_H
#define PEER_RING_H

#include <cuda_runtime.h>

struct stage {
    int          dev;
    cudaStream_t stream;
    cudaEvent_t  done;      /* output of the stage is complete */
    float       *in;
    float       *out;
};

struct pipeline {
    int          nstages;
    size_t       n;
    struct stage *st;
};

int  pipe_open(struct pipeline *p, int nstages, size_t n);
int  pipe_run(struct pipeline *p, const float *src, float *dst);
void pipe_close(struct pipeline *p);

#endif
