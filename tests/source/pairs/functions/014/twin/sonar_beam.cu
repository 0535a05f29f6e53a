#include <cuda_runtime.h>
#include <cufft.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Ping spectrum of a towed array: batch of R2C transforms and a power map. */

#define NSENS 64
#define NFFT 4096
#define NBIN (NFFT / 2 + 1)

struct ping_state {
    cudaStream_t stream;
    cufftHandle plan;
    int have_plan;
    float *d_time;
    cufftComplex *d_freq;
    float *d_power;
    float *h_time;      /* pinned */
    float *h_power;     /* pinned */
};

__global__ void window(float *t, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        t[blockIdx.y * n + i] *= 0.5f - 0.5f * cosf(6.2831853f * i / (n - 1));
}

__global__ void power(const cufftComplex *f, float *p, int nbin, int nsens)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.f;
    if (b >= nbin)
        return;
    for (int k = 0; k < nsens; ++k) {
        cufftComplex c = f[k * nbin + b];
        s += c.x * c.x + c.y * c.y;
    }
    p[b] = s / nsens;
}

void ping_close(struct ping_state *p)
{
    if (p->stream) cudaStreamSynchronize(p->stream);
    if (p->have_plan) cufftDestroy(p->plan);
    cudaFree(p->d_time);
    cudaFree(p->d_freq);
    cudaFree(p->d_power);
    if (p->h_time) cudaFreeHost(p->h_time);
    if (p->h_power) cudaFreeHost(p->h_power);
    if (p->stream) cudaStreamDestroy(p->stream);
    free(p);
}

struct ping_state *ping_open(void)
{
    struct ping_state *p = (struct ping_state *)calloc(1, sizeof *p);
    if (!p)
        return NULL;
    if (cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMalloc((void **)&p->d_time, sizeof(float) * NSENS * NFFT) != cudaSuccess ||
        cudaMalloc((void **)&p->d_freq, sizeof(cufftComplex) * NSENS * NBIN) != cudaSuccess ||
        cudaMalloc((void **)&p->d_power, sizeof(float) * NBIN) != cudaSuccess ||
        cudaMallocHost((void **)&p->h_time, sizeof(float) * NSENS * NFFT) != cudaSuccess ||
        cudaMallocHost((void **)&p->h_power, sizeof(float) * NBIN) != cudaSuccess) {
        ping_close(p);
        return NULL;
    }
    if (cufftPlan1d(&p->plan, NFFT, CUFFT_R2C, NSENS) != CUFFT_SUCCESS) {
        ping_close(p);
        return NULL;
    }
    p->have_plan = 1;
    if (cufftSetStream(p->plan, p->stream) != CUFFT_SUCCESS) {
        ping_close(p);
        return NULL;
    }
    return p;
}

/* The caller fills p->h_time; the result is in p->h_power. */
int ping_process(struct ping_state *p)
{
    dim3 g((NFFT + 255) / 256, NSENS);

    if (cudaMemcpyAsync(p->d_time, p->h_time, sizeof(float) * NSENS * NFFT,
                        cudaMemcpyHostToDevice, p->stream) != cudaSuccess)
        return -1;
    window<<<g, 256, 0, p->stream>>>(p->d_time, NFFT);
    if (cudaGetLastError() != cudaSuccess)
        return -1;
    if (cufftExecR2C(p->plan, p->d_time, p->d_freq) != CUFFT_SUCCESS)
        return -1;
    power<<<(NBIN + 255) / 256, 256, 0, p->stream>>>(p->d_freq, p->d_power, NBIN, NSENS);
    if (cudaGetLastError() != cudaSuccess)
        return -1;
    if (cudaMemcpyAsync(p->h_power, p->d_power, sizeof(float) * NBIN, cudaMemcpyDeviceToHost,
                        p->stream) != cudaSuccess)
        return -1;
    return cudaStreamSynchronize(p->stream) == cudaSuccess ? 0 : -1;
}
