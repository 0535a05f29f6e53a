/* Hearing-aid simulator: FIR filter bank through a prebuilt PTX-free runtime library. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* fir_kernels.cu */
int fir_launch(const float *x, int n, const float *taps, int ntaps, int nbands, float *y,
               cudaStream_t s);

#define TRY(call)                                                                  \
    do {                                                                           \
        err = (call);                                                              \
        if (err != cudaSuccess)                                                    \
            goto done;                                                             \
    } while (0)

cudaError_t fir_bank(const float *signal, int n, const float *taps, int ntaps, int nbands,
                     float *bands)
{
    float *d_x, *d_taps, *d_y;
    size_t xbytes = (size_t)n * sizeof(float);
    size_t tbytes = (size_t)ntaps * nbands * sizeof(float);
    size_t ybytes = xbytes * nbands;
    cudaError_t err;

    TRY(cudaMalloc((void **)&d_x, xbytes));
    TRY(cudaMalloc((void **)&d_taps, tbytes));
    TRY(cudaMalloc((void **)&d_y, ybytes));

    TRY(cudaMemcpy(d_x, signal, xbytes, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(d_taps, taps, tbytes, cudaMemcpyHostToDevice));

    if (fir_launch(d_x, n, d_taps, ntaps, nbands, d_y, 0) != 0) {
        err = cudaErrorLaunchFailure;
        goto done;
    }
    TRY(cudaMemcpy(bands, d_y, ybytes, cudaMemcpyDeviceToHost));

done:
    cudaFree(d_y);
    cudaFree(d_taps);
    cudaFree(d_x);
    return err;
}

static float *load(const char *path, int *count)
{
    FILE *f = fopen(path, "rb");
    float *v;
    long bytes;
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    bytes = ftell(f);
    rewind(f);
    v = (float *)malloc(bytes > 0 ? (size_t)bytes : 1);
    if (v && fread(v, 1, (size_t)bytes, f) != (size_t)bytes) {
        free(v);
        v = NULL;
    }
    fclose(f);
    *count = (int)(bytes / (long)sizeof(float));
    return v;
}

int main(int argc, char **argv)
{
    int n = 0, total = 0, ntaps, nbands, rc = 1;
    float *sig = NULL, *taps = NULL, *out = NULL;
    cudaError_t e;

    if (argc != 4 || (ntaps = atoi(argv[3])) <= 0)
        return 1;
    sig = load(argv[1], &n);
    taps = load(argv[2], &total);
    if (!sig || !taps || n == 0 || total < ntaps)
        goto end;
    nbands = total / ntaps;
    out = (float *)malloc((size_t)n * nbands * sizeof(float));
    if (!out)
        goto end;
    e = fir_bank(sig, n, taps, ntaps, nbands, out);
    if (e != cudaSuccess) {
        fprintf(stderr, "fir_bank: %s\n", cudaGetErrorString(e));
        goto end;
    }
    fwrite(out, sizeof(float), (size_t)n * nbands, stdout);
    rc = 0;
end:
    free(out);
    free(taps);
    free(sig);
    return rc;
}
