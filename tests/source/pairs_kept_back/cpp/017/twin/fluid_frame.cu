#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

// Fluid part of the frame: the number of Jacobi passes follows the quality setting, so the
// graph is captured anew for each frame and patched into the executable one.

#define FX(expr)                                                            \
    {                                                                       \
        cudaError_t fx = expr;                                              \
        if (fx != cudaSuccess) {                                            \
            fprintf(stderr, "fx: %s @%d\n", cudaGetErrorString(fx), __LINE__); \
            exit(1);                                                        \
        }                                                                   \
    }

__global__ void advect(const float2* u, float2* v, int n, float dt) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= n || y >= n) return;
    float2 c = u[y * n + x];
    int sx = min(max(int(x - dt * c.x), 0), n - 1), sy = min(max(int(y - dt * c.y), 0), n - 1);
    v[y * n + x] = u[sy * n + sx];
}

__global__ void jacobi(const float* p, float* q, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    q[y * n + x] = 0.25f * (p[y * n + x - 1] + p[y * n + x + 1] + p[(y - 1) * n + x] + p[(y + 1) * n + x]);
}

struct Fluid {
    int n;
    float2 *u, *v;
    float *p, *q;
    cudaStream_t s;
    cudaGraphExec_t exec;
};

static void record(Fluid* f, int passes, float dt) {
    dim3 b(16, 16), g((f->n + 15) / 16, (f->n + 15) / 16);
    advect<<<g, b, 0, f->s>>>(f->u, f->v, f->n, dt);
    for (int k = 0; k < passes; ++k)
        jacobi<<<g, b, 0, f->s>>>(k & 1 ? f->q : f->p, k & 1 ? f->p : f->q, f->n);
    FX(cudaMemcpyAsync(f->u, f->v, sizeof(float2) * f->n * f->n, cudaMemcpyDeviceToDevice, f->s));
}

static void frame(Fluid* f, int passes, float dt) {
    cudaGraph_t g;
    FX(cudaStreamBeginCapture(f->s, cudaStreamCaptureModeThreadLocal));
    record(f, passes, dt);
    FX(cudaStreamEndCapture(f->s, &g));

    if (f->exec) {
        cudaGraphExecUpdateResultInfo info;
        if (cudaGraphExecUpdate(f->exec, g, &info) != cudaSuccess) {
            (void)cudaGetLastError();
            FX(cudaGraphExecDestroy(f->exec));
            f->exec = NULL;
        }
    }
    if (!f->exec) FX(cudaGraphInstantiate(&f->exec, g, 0));
    FX(cudaGraphDestroy(g));
    FX(cudaGraphLaunch(f->exec, f->s));
}

int main() {
    Fluid f = {};
    f.n = 512;
    size_t cells = size_t(f.n) * f.n;
    FX(cudaMalloc(&f.u, cells * sizeof(float2)));
    FX(cudaMalloc(&f.v, cells * sizeof(float2)));
    FX(cudaMalloc(&f.p, cells * sizeof(float)));
    FX(cudaMalloc(&f.q, cells * sizeof(float)));
    FX(cudaMemset(f.u, 0, cells * sizeof(float2)));
    FX(cudaMemset(f.p, 0, cells * sizeof(float)));
    FX(cudaMemset(f.q, 0, cells * sizeof(float)));
    FX(cudaStreamCreate(&f.s));

    for (int i = 0; i < 600; ++i) {
        int quality = 20 + (i / 100) * 4;
        frame(&f, quality, 0.016f);
        FX(cudaStreamSynchronize(f.s));
    }

    FX(cudaGraphExecDestroy(f.exec));
    FX(cudaStreamDestroy(f.s));
    FX(cudaFree(f.q));
    FX(cudaFree(f.p));
    FX(cudaFree(f.v));
    FX(cudaFree(f.u));
    return 0;
}
