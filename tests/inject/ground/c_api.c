/* A small library in C over the driver API: an opaque handle to a vector on the device. Its functions return 0 or a
 * status; the handle, or vector_problem for an open that failed, tells which call it was. Below, a program that uses
 * it. */

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

struct vector {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction scale;
    CUstream stream;
    CUdeviceptr data;
    size_t length;
};

static char vector_problem[256];

static const char CODE[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry scale(.param .u64 data, .param .u32 length, .param .f32 factor) { ret; }\n";

/* Keeps the first problem: what fails afterwards follows from it. */
static CUresult note(const char* call, CUresult status) {
    const char* name = "unknown error";
    if (status == CUDA_SUCCESS || vector_problem[0]) return status;
    if (cuGetErrorName(status, &name) != CUDA_SUCCESS) name = "unknown error";
    snprintf(vector_problem, sizeof vector_problem, "%s: %s", call, name);
    return status;
}

/* Ends what there is, also of a vector that was opened half. */
static CUresult vector_close(struct vector* vector) {
    CUresult first = CUDA_SUCCESS, status;
    if (vector->data && (status = note("cuMemFree", cuMemFree(vector->data)))) first = status;
    if (vector->stream && (status = note("cuStreamDestroy", cuStreamDestroy(vector->stream)))) first = status;
    if (vector->module && (status = note("cuModuleUnload", cuModuleUnload(vector->module)))) first = status;
    if (vector->context) {
        if ((status = note("cuCtxSetCurrent(NULL)", cuCtxSetCurrent(NULL)))) first = status;
        if ((status = note("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease(vector->device)))) first = status;
    }
    free(vector);
    return first;
}

static CUresult set_up(struct vector* vector) {
    CUresult status;
    if ((status = note("cuInit", cuInit(0)))) return status;
    if ((status = note("cuDeviceGet", cuDeviceGet(&vector->device, 0)))) return status;
    if ((status = note("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&vector->context, vector->device))))
        return status;
    if ((status = note("cuCtxSetCurrent", cuCtxSetCurrent(vector->context)))) return status;
    if ((status = note("cuModuleLoadData", cuModuleLoadData(&vector->module, CODE)))) return status;
    if ((status = note("cuModuleGetFunction", cuModuleGetFunction(&vector->scale, vector->module, "scale"))))
        return status;
    if ((status = note("cuStreamCreate", cuStreamCreate(&vector->stream, CU_STREAM_NON_BLOCKING)))) return status;
    return note("cuMemAlloc", cuMemAlloc(&vector->data, vector->length * sizeof(float)));
}

static CUresult vector_open(struct vector** opened, size_t length) {
    struct vector* vector = calloc(1, sizeof *vector);
    CUresult status;
    if (!vector) return CUDA_ERROR_OUT_OF_MEMORY;
    vector->length = length;
    status = set_up(vector);
    if (status == CUDA_SUCCESS)
        *opened = vector;
    else
        vector_close(vector);
    return status;
}

static CUresult vector_write(struct vector* vector, const float* values) {
    const size_t bytes = vector->length * sizeof(float);
    CUresult status = note("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync(vector->data, values, bytes, vector->stream));
    if (status) return status;
    return note("cuStreamSynchronize (write)", cuStreamSynchronize(vector->stream));
}

static CUresult vector_scale(struct vector* vector, float factor) {
    unsigned length = (unsigned)vector->length, blocks = (length + 255) / 256;
    void* given[] = {&vector->data, &length, &factor};
    CUstream stream = vector->stream;
    return note("cuLaunchKernel", cuLaunchKernel(vector->scale, blocks, 1, 1, 256, 1, 1, 0, stream, given, NULL));
}

static CUresult vector_read(struct vector* vector, float* values) {
    const size_t bytes = vector->length * sizeof(float);
    CUresult status = note("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync(values, vector->data, bytes, vector->stream));
    if (status) return status;
    return note("cuStreamSynchronize (read)", cuStreamSynchronize(vector->stream));
}

static float values[1000];

int main(void) {
    struct vector* vector = NULL;
    CUresult status = vector_open(&vector, sizeof values / sizeof *values), closed = CUDA_SUCCESS;
    if (status == CUDA_SUCCESS) {
        status = vector_write(vector, values);
        if (status == CUDA_SUCCESS) status = vector_scale(vector, 2);
        if (status == CUDA_SUCCESS) status = vector_read(vector, values);
        closed = vector_close(vector);
    }
    if (status != CUDA_SUCCESS || closed != CUDA_SUCCESS) {
        fprintf(stderr, "c_api: %s\n", vector_problem[0] ? vector_problem : "no memory on the host");
        return 1;
    }
    printf("c_api: %zu values scaled\n", sizeof values / sizeof *values);
    return 0;
}
