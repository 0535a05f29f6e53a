#include "gpubridge.h"

#include <stddef.h>

#define GB_OK      0
#define GB_ERANGE  (-34)

static int enter(struct gb_device *d)
{
    return (int)cuCtxPushCurrent(d->ctx);
}

static int leave(int rc)
{
    CUcontext prev;
    CUresult r = cuCtxPopCurrent(&prev);
    return rc ? rc : (int)r;
}

int gb_open(struct gb_device *d, int ordinal)
{
    CUresult r = cuInit(0);
    if (r == CUDA_SUCCESS)
        r = cuDeviceGet(&d->ordinal, ordinal);
    if (r == CUDA_SUCCESS)
        r = cuDevicePrimaryCtxRetain(&d->ctx, d->ordinal);
    if (r != CUDA_SUCCESS)
        d->ctx = NULL;
    return (int)r;
}

int gb_alloc(struct gb_device *d, uint64_t bytes, uint64_t *out)
{
    CUdeviceptr p = 0;
    int rc = enter(d);
    if (rc)
        return rc;
    rc = (int)cuMemAlloc(&p, (size_t)bytes);
    if (!rc)
        *out = (uint64_t)p;
    return leave(rc);
}

int gb_write(struct gb_device *d, uint64_t dst, uint64_t cap, const void *src, uint64_t bytes)
{
    CUdeviceptr base = 0;
    size_t len = 0;
    int rc = enter(d);
    if (rc)
        return rc;

    rc = (int)cuMemGetAddressRange(&base, &len, (CUdeviceptr)dst);
    if (rc)
        return leave(rc);
    if (bytes > cap || dst + bytes > (uint64_t)base + len)
        return GB_ERANGE;

    rc = (int)cuMemcpyHtoD((CUdeviceptr)dst, src, (size_t)bytes);
    return leave(rc);
}

int gb_free(struct gb_device *d, uint64_t ptr)
{
    int rc = enter(d);
    if (rc)
        return rc;
    return leave((int)cuMemFree((CUdeviceptr)ptr));
}

int gb_close(struct gb_device *d)
{
    if (!d->ctx)
        return GB_OK;
    d->ctx = NULL;
    return (int)cuDevicePrimaryCtxRelease(d->ordinal);
}
