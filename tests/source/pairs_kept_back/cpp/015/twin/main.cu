#include "ops.h"

#include <stdio.h>

int main(void)
{
    const size_t n = 4096;
    float *x;
    struct reduce_ws ws = {NULL, 0};
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t ge;

    OPS_CHK(cudaMalloc((void **)&x, n * sizeof(float)));
    OPS_CHK(cudaMemset(x, 1, n * sizeof(float)));
    OPS_CHK(cudaDeviceSynchronize());
    OPS_CHK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));

    ops_reserve(&ws, n);
    OPS_CHK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int layer = 0; layer < 12; layer++) {
        ops_rms(&ws, x, n, s);
        ops_scale(x, n, 0.5f + layer, s);
    }
    OPS_CHK(cudaStreamEndCapture(s, &g));
    OPS_CHK(cudaGraphInstantiateWithFlags(&ge, g, 0));
    OPS_CHK(cudaGraphDestroy(g));

    for (int it = 0; it < 100; it++)
        OPS_CHK(cudaGraphLaunch(ge, s));
    OPS_CHK(cudaStreamSynchronize(s));

    float v;
    OPS_CHK(cudaMemcpy(&v, x, sizeof v, cudaMemcpyDeviceToHost));
    printf("%g\n", v);

    OPS_CHK(cudaGraphExecDestroy(ge));
    OPS_CHK(cudaStreamDestroy(s));
    ops_free(&ws);
    OPS_CHK(cudaFree(x));
    return 0;
}
