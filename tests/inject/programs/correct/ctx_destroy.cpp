// Driver API: one context that owns everything; cuCtxDestroy frees all (as documented) and is checked.
#include <cuda.h>

#include <cstdio>
static int fail(const char* w, CUresult r) {
    const char* n = "?";
    cuGetErrorName(r, &n);
    fprintf(stderr, "%s: %s\n", w, n);
    return 1;
}
int main() {
    CUresult r;
    CUdevice dev;
    CUcontext ctx;
    CUdeviceptr p, q;
    CUstream st;
    int rc = 0;
    char h[64] = {};
    if ((r = cuInit(0))) return fail("cuInit", r);
    if ((r = cuDeviceGet(&dev, 0))) return fail("cuDeviceGet", r);
    if ((r = cuCtxCreate(&ctx, nullptr, 0, dev))) return fail("cuCtxCreate", r);
    if ((r = cuMemAlloc(&p, 64))) rc = fail("cuMemAlloc", r);
    if (!rc && (r = cuMemAlloc(&q, 64))) rc = fail("cuMemAlloc", r);
    if (!rc && (r = cuStreamCreate(&st, 0))) rc = fail("cuStreamCreate", r);
    if (!rc && (r = cuMemcpyHtoDAsync(p, h, 64, st))) rc = fail("cuMemcpyHtoDAsync", r);
    if (!rc && (r = cuStreamSynchronize(st))) rc = fail("cuStreamSynchronize", r);
    if ((r = cuCtxDestroy(ctx))) rc = fail("cuCtxDestroy", r);
    if (!rc) puts("ok");
    return rc;
}
