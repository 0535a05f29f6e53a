/* Gaussian shocks for the VaR engine, loaded by the front end through its C interface. */
#include <cuda_runtime.h>
#include <curand.h>
#include <stdlib.h>

#define VAR_OK         0
#define VAR_E_NOMEM    1
#define VAR_E_RANDOM   2
#define VAR_E_CUDA     3

typedef struct var_shocks {
    curandGenerator_t gen;
    cudaStream_t      stream;
    double           *dev;
    size_t            cap;
} var_shocks;

void var_shocks_destroy(var_shocks *v)
{
    if (!v)
        return;
    if (v->stream)
        cudaStreamSynchronize(v->stream);
    if (v->gen)
        curandDestroyGenerator(v->gen);
    cudaFree(v->dev);
    if (v->stream)
        cudaStreamDestroy(v->stream);
    free(v);
}

int var_shocks_create(var_shocks **out, size_t cap, unsigned long long seed)
{
    var_shocks *v = (var_shocks *)calloc(1, sizeof *v);
    int rc = VAR_E_CUDA;

    *out = NULL;
    if (!v)
        return VAR_E_NOMEM;
    v->cap = cap;
    if (cudaStreamCreateWithFlags(&v->stream, cudaStreamNonBlocking) != cudaSuccess)
        goto bad;
    if (cudaMalloc((void **)&v->dev, cap * sizeof(double)) != cudaSuccess)
        goto bad;
    rc = VAR_E_RANDOM;
    if (curandCreateGenerator(&v->gen, CURAND_RNG_PSEUDO_PHILOX4_32_10) != CURAND_STATUS_SUCCESS) {
        v->gen = NULL;
        goto bad;
    }
    if (curandSetStream(v->gen, v->stream) != CURAND_STATUS_SUCCESS ||
        curandSetPseudoRandomGeneratorSeed(v->gen, seed) != CURAND_STATUS_SUCCESS)
        goto bad;
    *out = v;
    return VAR_OK;

bad:
    var_shocks_destroy(v);
    return rc;
}

/* Fills host[0..n) with N(0, sigma) draws. n comes from the user's scenario sheet. */
int var_shocks_draw(var_shocks *v, double *host, size_t n, double sigma)
{
    if (n > v->cap)
        return VAR_E_NOMEM;
    if (n == 0)
        return VAR_OK;

    curandGenerateNormalDouble(v->gen, v->dev, n, 0.0, sigma);

    if (cudaMemcpyAsync(host, v->dev, n * sizeof(double), cudaMemcpyDeviceToHost, v->stream)
            != cudaSuccess)
        return VAR_E_CUDA;
    if (cudaStreamSynchronize(v->stream) != cudaSuccess)
        return VAR_E_CUDA;
    return VAR_OK;
}
