#include <cuda.h>
#include <cstdio>

struct DeviceInfo {
    size_t free_bytes;
    size_t total_bytes;
    int sm_count;
};

int probe_device(int ordinal, DeviceInfo* info)
{
    CUdevice device;
    CUcontext context = nullptr;
    if (cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
        return -1;
    if (cuDeviceGetAttribute(&info->sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) != CUDA_SUCCESS)
        return -1;
    if (cuCtxCreate(&context, nullptr, CU_CTX_SCHED_AUTO, device) != CUDA_SUCCESS)
        return -1;
    if (cuMemGetInfo(&info->free_bytes, &info->total_bytes) != CUDA_SUCCESS) {
        std::fprintf(stderr, "device %d: no memory information\n", ordinal);
        return -1;
    }
    return cuCtxDestroy(context) == CUDA_SUCCESS ? 0 : -1;
}

int probe_all(DeviceInfo* infos, int capacity)
{
    int count = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS)
        return -1;
    if (count > capacity)
        count = capacity;
    for (int i = 0; i < count; ++i)
        if (probe_device(i, &infos[i]) != 0)
            return -1;
    return count;
}
