#include "progress.h"

#include <stdio.h>
#include <stdlib.h>

static void die(int e, const char *w)
{
    if (e) {
        fprintf(stderr, "tomo: %s (%s)\n", w, cudaGetErrorString((cudaError_t)e));
        exit(1);
    }
}

__global__ void backproject(const float *proj, float *vol, int n, float angle)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int t = (int)((x - n / 2) * cosf(angle) + (y - n / 2) * sinf(angle)) + n / 2;
    if (t >= 0 && t < n) vol[y * n + x] += proj[t];
}

static void show(int done, int total, void *user)
{
    fprintf((FILE *)user, "\r%d / %d", done, total);
}

int main(void)
{
    const int n = 1024, angles = 720;
    float *proj, *vol;
    cudaStream_t s;
    dim3 b(16, 16), g((n + 15) / 16, (n + 15) / 16);

    die(cudaStreamCreate(&s), "stream");
    die(cudaMalloc((void **)&proj, sizeof(float) * n * angles), "projections");
    die(cudaMalloc((void **)&vol, sizeof(float) * n * n), "volume");
    die(cudaMemsetAsync(proj, 0, sizeof(float) * n * angles, s), "clear");
    die(cudaMemsetAsync(vol, 0, sizeof(float) * n * n, s), "clear");

    for (int a = 0; a < angles; a++) {
        backproject<<<g, b, 0, s>>>(proj + (size_t)a * n, vol, n, a * 3.14159265f / angles);
        die(cudaGetLastError(), "backproject");
        if (a % 16 == 15)
            die(progress_post(s, show, stderr, a + 1, angles), "progress");
    }
    die(cudaStreamSynchronize(s), "sync");
    fputc('\n', stderr);

    die(cudaFree(vol), "free");
    die(cudaFree(proj), "free");
    die(cudaStreamDestroy(s), "stream");
    return 0;
}
