#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    float4 *pos;
    float4 *vel;
    int     n;
} particles_t;

typedef struct {
    float kernel_ms;
    float kinetic;
} step_stats_t;

__global__ void advect(float4 *pos, float4 *vel, int n, float dt, float *ke)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = vel[i];
    float4 p = pos[i];
    p.x += v.x * dt; p.y += v.y * dt; p.z += v.z * dt;
    pos[i] = p;
    atomicAdd(ke, 0.5f * p.w * (v.x * v.x + v.y * v.y + v.z * v.z));
}

static int fail(const char *what, cudaError_t e)
{
    fprintf(stderr, "sph: %s failed: %s\n", what, cudaGetErrorString(e));
    return -1;
}

/* Called for every time step. A negative result makes the driver retry with half the dt. */
int sph_step(particles_t *p, float dt, step_stats_t *st)
{
    cudaEvent_t t0 = NULL, t1 = NULL;
    float *d_ke = NULL;
    cudaError_t e;
    int rc = -1;

    if ((e = cudaEventCreate(&t0)) != cudaSuccess) return fail("event", e);
    if ((e = cudaEventCreate(&t1)) != cudaSuccess) { fail("event", e); goto out; }
    if ((e = cudaMalloc((void **)&d_ke, sizeof(float))) != cudaSuccess) { fail("malloc", e); goto out; }
    if ((e = cudaMemset(d_ke, 0, sizeof(float))) != cudaSuccess) { fail("memset", e); goto out; }

    cudaEventRecord(t0, 0);
    advect<<<(p->n + 255) / 256, 256>>>(p->pos, p->vel, p->n, dt, d_ke);
    if ((e = cudaGetLastError()) != cudaSuccess) { fail("advect", e); goto out; }
    cudaEventRecord(t1, 0);

    if ((e = cudaMemcpy(&st->kinetic, d_ke, sizeof(float), cudaMemcpyDeviceToHost)) != cudaSuccess) {
        fail("readback", e);
        goto out;
    }
    if (!(st->kinetic < 1e12f)) {
        fprintf(stderr, "sph: energy blew up (%g), dt=%g\n", st->kinetic, dt);
        goto out;
    }
    if ((e = cudaEventElapsedTime(&st->kernel_ms, t0, t1)) != cudaSuccess) { fail("elapsed", e); goto out; }
    rc = 0;

out:
    if (d_ke) cudaFree(d_ke);
    if (t1) cudaEventDestroy(t1);
    if (t0) cudaEventDestroy(t0);
    return rc;
}

int main(void)
{
    particles_t p;
    step_stats_t st;
    float dt = 1e-3f;
    int k, rc = 0;

    memset(&p, 0, sizeof p);
    memset(&st, 0, sizeof st);
    p.n = 1 << 20;
    if (cudaMalloc((void **)&p.pos, p.n * sizeof(float4)) != cudaSuccess) return 1;
    if (cudaMalloc((void **)&p.vel, p.n * sizeof(float4)) != cudaSuccess) { cudaFree(p.pos); return 1; }
    if (cudaMemset(p.pos, 0, p.n * sizeof(float4)) != cudaSuccess ||
        cudaMemset(p.vel, 0, p.n * sizeof(float4)) != cudaSuccess)
        rc = 1;

    for (k = 0; rc == 0 && k < 100000; k++) {
        if (sph_step(&p, dt, &st) < 0) {
            dt *= 0.5f;
            if (dt < 1e-9f) rc = 1;
        }
    }
    printf("ke %g, %g ms\n", st.kinetic, st.kernel_ms);
    cudaFree(p.vel);
    cudaFree(p.pos);
    return rc;
}
