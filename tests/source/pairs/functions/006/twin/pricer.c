/* Option pricer: C ABI used from the spreadsheet add-in. The host application
 * has its own CUDA context; ours is pushed for the length of a call. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

typedef struct pricer {
    CUcontext ctx;
    CUmodule module;
    CUfunction black76;
    CUdeviceptr in, out;
    unsigned capacity;
} pricer;

typedef struct quote {
    float fwd, strike, vol, expiry;
} quote;

enum { PR_OK = 0, PR_ARG = 1, PR_CUDA = 2 };

int pricer_open(pricer **out, int ordinal, const void *image, unsigned capacity)
{
    CUdevice dev;
    pricer *p;

    if (!out || !image || capacity == 0)
        return PR_ARG;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&dev, ordinal) != CUDA_SUCCESS)
        return PR_CUDA;
    p = (pricer *)calloc(1, sizeof *p);
    if (!p)
        return PR_ARG;
    p->capacity = capacity;
    if (cuDevicePrimaryCtxRetain(&p->ctx, dev) != CUDA_SUCCESS) {
        free(p);
        return PR_CUDA;
    }
    if (cuCtxPushCurrent(p->ctx) != CUDA_SUCCESS)
        goto unretain;
    if (cuModuleLoadData(&p->module, image) != CUDA_SUCCESS)
        goto pop;
    if (cuModuleGetFunction(&p->black76, p->module, "black76") != CUDA_SUCCESS)
        goto unload;
    if (cuMemAlloc(&p->in, capacity * sizeof(quote)) != CUDA_SUCCESS)
        goto unload;
    if (cuMemAlloc(&p->out, capacity * sizeof(float)) != CUDA_SUCCESS)
        goto free_in;
    cuCtxPopCurrent(NULL);
    *out = p;
    return PR_OK;

free_in:
    cuMemFree(p->in);
unload:
    cuModuleUnload(p->module);
pop:
    cuCtxPopCurrent(NULL);
unretain:
    cuDevicePrimaryCtxRelease(dev);
    free(p);
    return PR_CUDA;
}

int pricer_eval(pricer *p, const quote *q, float *price, unsigned n)
{
    void *args[3];
    int rc = PR_CUDA;

    if (!p || !q || !price || n > p->capacity)
        return PR_ARG;
    if (n == 0)
        return PR_OK;
    if (cuCtxPushCurrent(p->ctx) != CUDA_SUCCESS)
        return PR_CUDA;

    if (cuMemcpyHtoD(p->in, q, n * sizeof(quote)) != CUDA_SUCCESS)
        goto out;
    args[0] = &p->in;
    args[1] = &p->out;
    args[2] = &n;
    if (cuLaunchKernel(p->black76, (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, args, NULL) !=
        CUDA_SUCCESS)
        goto out;
    if (cuMemcpyDtoH(price, p->out, n * sizeof(float)) != CUDA_SUCCESS)
        goto out;
    rc = PR_OK;
out:
    cuCtxPopCurrent(NULL);
    return rc;
}

void pricer_close(pricer *p)
{
    CUdevice dev;

    if (!p)
        return;
    if (cuCtxPushCurrent(p->ctx) == CUDA_SUCCESS) {
        cuMemFree(p->out);
        cuMemFree(p->in);
        cuModuleUnload(p->module);
        if (cuCtxGetDevice(&dev) == CUDA_SUCCESS) {
            cuCtxPopCurrent(NULL);
            cuDevicePrimaryCtxRelease(dev);
        } else {
            cuCtxPopCurrent(NULL);
        }
    }
    free(p);
}
