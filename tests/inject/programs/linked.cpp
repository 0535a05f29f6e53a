// Has a runtime linked in, which asks the driver for more than it was called for.
#include <cuda.h>

#include <cstdio>

extern "C" int cudaStreamCreate(CUstream* stream) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    int value = 0;
    CUresult status = cuInit(0);
    if (!status) status = cuDeviceGet(&device, 0);
    if (!status) status = cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
    if (!status) status = cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
    if (!status) status = cuDevicePrimaryCtxRetain(&context, device);
    if (!status) status = cuCtxSetCurrent(context);
    if (!status) status = cuStreamCreate(stream, 0);
    return status ? 1 : 0;
}

extern "C" int cudaStreamDestroy(CUstream stream) { return cuStreamDestroy(stream) ? 1 : 0; }

int main() {
    CUstream stream = nullptr;
    if (cudaStreamCreate(&stream)) return fprintf(stderr, "cudaStreamCreate failed\n"), 1;
    if (cudaStreamDestroy(stream)) return fprintf(stderr, "cudaStreamDestroy failed\n"), 1;
    puts("done");
    return 0;
}
