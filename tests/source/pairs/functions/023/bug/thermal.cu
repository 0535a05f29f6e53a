#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Thermal camera: raw counts to temperature, bad pixels replaced.

typedef struct {
    int w, h;
    uint16_t *d_raw;
    size_t raw_pitch;
    float *d_temp;
    size_t temp_pitch;
} thermal_t;

static int failed(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return 0;
    fprintf(stderr, "thermal: %s: %s\n", what, cudaGetErrorString(e));
    return 1;
}

__global__ void to_kelvin(const uint16_t *raw, size_t rp, float *t, size_t tp, int w, int h,
                          float gain, float offset)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    const uint16_t *row = (const uint16_t *)((const char *)raw + y * rp);
    float v = row[x];
    if (v == 0.f && x > 0)
        v = row[x - 1];
    ((float *)((char *)t + y * tp))[x] = v * gain + offset;
}

thermal_t *thermal_new(int w, int h)
{
    thermal_t *t = (thermal_t *)calloc(1, sizeof(thermal_t));
    if (!t)
        return NULL;
    t->w = w;
    t->h = h;
    if (failed(cudaMallocPitch((void **)&t->d_raw, &t->raw_pitch, w * sizeof(uint16_t), h),
               "raw")) {
        free(t);
        return NULL;
    }
    if (failed(cudaMallocPitch((void **)&t->d_temp, &t->temp_pitch, w * sizeof(float), h),
               "temp")) {
        cudaFree(t->d_raw);
        free(t);
        return NULL;
    }
    return t;
}

void thermal_delete(thermal_t *t)
{
    if (!t)
        return;
    cudaFree(t->d_temp);
    cudaFree(t->d_raw);
    free(t);
}

// raw and out are dense w*h images in host memory
int thermal_convert(thermal_t *t, const uint16_t *raw, float *out, float gain, float offset)
{
    dim3 b(32, 8), g((t->w + 31) / 32, (t->h + 7) / 8);

    if (failed(cudaMemcpy2D(t->d_raw, t->raw_pitch, raw, t->w * sizeof(uint16_t),
                            t->w * sizeof(uint16_t), t->h, cudaMemcpyHostToDevice),
               "upload"))
        return -1;
    to_kelvin<<<g, b>>>(t->d_raw, t->raw_pitch, t->d_temp, t->temp_pitch, t->w, t->h, gain,
                        offset);
    if (failed(cudaGetLastError(), "launch"))
        return -1;
    if (failed(cudaMemcpy2D(out, t->temp_pitch, t->d_temp, t->temp_pitch,
                            t->w * sizeof(float), t->h, cudaMemcpyDeviceToHost),
               "download"))
        return -1;
    return 0;
}

int main(void)
{
    const int w = 382, h = 288;
    uint16_t *raw = (uint16_t *)malloc(w * h * sizeof(uint16_t));
    float *temp = (float *)malloc(w * h * sizeof(float));
    thermal_t *t = thermal_new(w, h);
    int rc = 1;
    if (raw && temp && t) {
        rc = 0;
        while (fread(raw, sizeof(uint16_t), w * h, stdin) == (size_t)(w * h)) {
            if (thermal_convert(t, raw, temp, 0.04f, 273.15f - 100.f)) {
                rc = 1;
                break;
            }
            fwrite(temp, sizeof(float), w * h, stdout);
        }
    }
    thermal_delete(t);
    free(temp);
    free(raw);
    return rc;
}
