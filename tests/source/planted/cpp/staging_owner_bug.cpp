#include <cuda_runtime.h>
#include <cstddef>
#include <memory>
#include <stdexcept>

struct DeviceDelete {
    void operator()(void* p) const noexcept { cudaFree(p); }
};

struct HostDelete {
    void operator()(void* p) const noexcept { cudaFreeHost(p); }
};

using StagingPtr = std::unique_ptr<float, DeviceDelete>;
using DevicePtr = std::unique_ptr<float, DeviceDelete>;

StagingPtr make_staging(std::size_t count)
{
    void* p = nullptr;
    if (cudaHostAlloc(&p, count * sizeof(float), cudaHostAllocWriteCombined) != cudaSuccess)
        throw std::runtime_error("pinned allocation failed");
    return StagingPtr(static_cast<float*>(p));
}

DevicePtr make_device(std::size_t count)
{
    void* p = nullptr;
    if (cudaMalloc(&p, count * sizeof(float)) != cudaSuccess)
        throw std::runtime_error("device allocation failed");
    return DevicePtr(static_cast<float*>(p));
}

DevicePtr upload(const float* values, std::size_t count)
{
    StagingPtr staging = make_staging(count);
    for (std::size_t i = 0; i < count; ++i)
        staging.get()[i] = values[i] * 0.5f;
    DevicePtr device = make_device(count);
    if (cudaMemcpy(device.get(), staging.get(), count * sizeof(float), cudaMemcpyHostToDevice) != cudaSuccess)
        throw std::runtime_error("upload failed");
    return device;
}
