/* NV12 tone mapping, luma and chroma in parallel, replayed per frame. */
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>

struct ToneGraph {
    uint8_t *luma;
    uint8_t *chroma;
    int width, height;
    cudaStream_t main, side;
    cudaEvent_t fork, join;
    cudaGraphExec_t exec;
};

__global__ void tone_luma(uint8_t *p, int n, float gain)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = p[i] * gain;
        p[i] = v > 235.f ? 235 : (uint8_t)v;
    }
}

__global__ void tone_chroma(uint8_t *p, int n, float sat)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = (uint8_t)(128.f + (p[i] - 128.f) * sat);
}

void tone_graph_close(ToneGraph *t)
{
    if (t->main)   cudaStreamSynchronize(t->main);
    if (t->exec)   cudaGraphExecDestroy(t->exec);
    if (t->join)   cudaEventDestroy(t->join);
    if (t->fork)   cudaEventDestroy(t->fork);
    if (t->side)   cudaStreamDestroy(t->side);
    if (t->main)   cudaStreamDestroy(t->main);
    t->exec = NULL;
    t->join = t->fork = NULL;
    t->side = t->main = NULL;
}

static int record_frame(ToneGraph *t, float gain, float sat)
{
    int ny = t->width * t->height, nc = ny / 2;

    if (cudaEventRecord(t->fork, t->main) != cudaSuccess) return -1;
    if (cudaStreamWaitEvent(t->side, t->fork, 0) != cudaSuccess) return -1;

    tone_luma<<<(ny + 255) / 256, 256, 0, t->main>>>(t->luma, ny, gain);
    if (cudaGetLastError() != cudaSuccess) return -1;
    tone_chroma<<<(nc + 255) / 256, 256, 0, t->side>>>(t->chroma, nc, sat);
    if (cudaGetLastError() != cudaSuccess) return -1;

    return 0;
}

int tone_graph_open(ToneGraph *t, uint8_t *luma, uint8_t *chroma, int w, int h,
                    float gain, float sat)
{
    cudaGraph_t g = NULL;
    int rc;

    t->luma = luma;
    t->chroma = chroma;
    t->width = w;
    t->height = h;
    t->main = t->side = NULL;
    t->fork = t->join = NULL;
    t->exec = NULL;

    if (cudaStreamCreateWithFlags(&t->main, cudaStreamNonBlocking) != cudaSuccess ||
        cudaStreamCreateWithFlags(&t->side, cudaStreamNonBlocking) != cudaSuccess ||
        cudaEventCreateWithFlags(&t->fork, cudaEventDisableTiming) != cudaSuccess ||
        cudaEventCreateWithFlags(&t->join, cudaEventDisableTiming) != cudaSuccess)
        goto fail;

    if (cudaStreamBeginCapture(t->main, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
        goto fail;
    rc = record_frame(t, gain, sat);
    if (cudaStreamEndCapture(t->main, &g) != cudaSuccess)
        goto fail;
    if (rc == 0 && cudaGraphInstantiateWithFlags(&t->exec, g, 0) != cudaSuccess)
        rc = -1;
    cudaGraphDestroy(g);
    if (rc != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "tone graph: %s\n", cudaGetErrorString(cudaGetLastError()));
    tone_graph_close(t);
    return -1;
}

int tone_graph_frame(ToneGraph *t)
{
    if (cudaGraphLaunch(t->exec, t->main) != cudaSuccess)
        return -1;
    return cudaStreamSynchronize(t->main) == cudaSuccess ? 0 : -1;
}
