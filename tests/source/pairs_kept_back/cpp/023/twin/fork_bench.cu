// usage: fork_bench [branches]
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define MAXB 16
#define DO(x)                                                         \
    do {                                                              \
        cudaError_t rc = (x);                                         \
        if (rc != cudaSuccess) {                                      \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(rc));  \
            exit(EXIT_FAILURE);                                       \
        }                                                             \
    } while (0)

__global__ void spin(float *p, int iters)
{
    float v = p[threadIdx.x];
    for (int i = 0; i < iters; i++) v = v * 1.0001f + 0.5f;
    p[threadIdx.x] = v;
}

static cudaGraph_t make_fork(cudaStream_t root, cudaStream_t *br, cudaEvent_t fork,
                             cudaEvent_t *done, float **buf, int nb)
{
    cudaGraph_t g;
    DO(cudaStreamBeginCapture(root, cudaStreamCaptureModeGlobal));
    spin<<<1, 256, 0, root>>>(buf[nb], 1000);
    DO(cudaEventRecord(fork, root));
    for (int i = 0; i < nb; i++) {
        DO(cudaStreamWaitEvent(br[i], fork, 0));
        spin<<<1, 256, 0, br[i]>>>(buf[i], 20000);
        DO(cudaEventRecord(done[i], br[i]));
    }
    for (int i = 0; i < nb; i++)
        DO(cudaStreamWaitEvent(root, done[i], 0));
    spin<<<1, 256, 0, root>>>(buf[nb], 1000);
    DO(cudaStreamEndCapture(root, &g));
    return g;
}

int main(int argc, char **argv)
{
    int nb = argc > 1 ? atoi(argv[1]) : 4;
    if (nb < 1 || nb > MAXB) return 1;

    cudaStream_t root, br[MAXB];
    cudaEvent_t fork, done[MAXB], t0, t1;
    float *buf[MAXB + 1];

    DO(cudaStreamCreateWithFlags(&root, cudaStreamNonBlocking));
    DO(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    DO(cudaEventCreate(&t0));
    DO(cudaEventCreate(&t1));
    for (int i = 0; i < nb; i++) {
        DO(cudaStreamCreateWithFlags(&br[i], cudaStreamNonBlocking));
        DO(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    }
    for (int i = 0; i <= nb; i++) {
        DO(cudaMalloc((void **)&buf[i], 256 * sizeof(float)));
        DO(cudaMemset(buf[i], 0, 256 * sizeof(float)));
    }
    DO(cudaDeviceSynchronize());

    cudaGraph_t g = make_fork(root, br, fork, done, buf, nb);
    cudaGraphExec_t x;
    DO(cudaGraphInstantiate(&x, g, 0));
    DO(cudaGraphLaunch(x, root));

    DO(cudaEventRecord(t0, root));
    for (int i = 0; i < 200; i++) DO(cudaGraphLaunch(x, root));
    DO(cudaEventRecord(t1, root));
    DO(cudaEventSynchronize(t1));
    float ms;
    DO(cudaEventElapsedTime(&ms, t0, t1));
    printf("%d branches: %.3f us per launch\n", nb, ms * 5.0f);

    DO(cudaGraphExecDestroy(x));
    DO(cudaGraphDestroy(g));
    for (int i = 0; i <= nb; i++) DO(cudaFree(buf[i]));
    for (int i = 0; i < nb; i++) {
        DO(cudaEventDestroy(done[i]));
        DO(cudaStreamDestroy(br[i]));
    }
    DO(cudaEventDestroy(t1));
    DO(cudaEventDestroy(t0));
    DO(cudaEventDestroy(fork));
    DO(cudaStreamDestroy(root));
    return 0;
}
