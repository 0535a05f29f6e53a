/* Link user supplied PTX against the runtime library of the shader language. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#define LOG_BYTES 8192

struct jit_unit {
    const char *name;
    const char *ptx;
};

static CUresult add_units(CUlinkState st, const struct jit_unit *u, int n)
{
    CUresult r = CUDA_SUCCESS;
    int i;
    for (i = 0; i < n && r == CUDA_SUCCESS; ++i)
        r = cuLinkAddData(st, CU_JIT_INPUT_PTX, (void *)u[i].ptx, strlen(u[i].ptx) + 1, u[i].name,
                          0, NULL, NULL);
    return r;
}

/* The caller has a current context and unloads *out. */
int jit_link(const struct jit_unit *units, int n, const char *rtlib, CUmodule *out)
{
    char log[LOG_BYTES];
    CUjit_option opt[2];
    void *val[2];
    CUlinkState st;
    void *cubin = NULL;
    size_t size = 0;
    CUresult r;

    log[0] = 0;
    opt[0] = CU_JIT_ERROR_LOG_BUFFER;
    val[0] = log;
    opt[1] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    val[1] = (void *)(size_t)LOG_BYTES;

    r = cuLinkCreate(2, opt, val, &st);
    if (r != CUDA_SUCCESS)
        return -1;
    r = add_units(st, units, n);
    if (r == CUDA_SUCCESS)
        r = cuLinkAddFile(st, CU_JIT_INPUT_LIBRARY, rtlib, 0, NULL, NULL);
    if (r == CUDA_SUCCESS)
        r = cuLinkComplete(st, &cubin, &size);
    if (r != CUDA_SUCCESS) {
        fprintf(stderr, "jit: link failed (%d)\n%s\n", (int)r, log);
        cuLinkDestroy(st);
        return -1;
    }

    r = cuModuleLoadData(out, cubin);
    cuLinkDestroy(st);
    if (r != CUDA_SUCCESS) {
        fprintf(stderr, "jit: cannot load %zu bytes (%d)\n", size, (int)r);
        return -1;
    }
    return 0;
}

int jit_run(const struct jit_unit *units, int n, const char *rtlib, const char *entry,
            CUdeviceptr buf, unsigned count)
{
    CUmodule mod;
    CUfunction fn;
    void *args[2];
    int rc = -1;

    if (jit_link(units, n, rtlib, &mod))
        return -1;
    if (cuModuleGetFunction(&fn, mod, entry) == CUDA_SUCCESS) {
        args[0] = &buf;
        args[1] = &count;
        if (cuLaunchKernel(fn, (count + 63) / 64, 1, 1, 64, 1, 1, 0, NULL, args, NULL) ==
                CUDA_SUCCESS &&
            cuCtxSynchronize() == CUDA_SUCCESS)
            rc = 0;
    }
    cuModuleUnload(mod);
    return rc;
}
