#include <cuda_runtime.h>
#include <stdexcept>

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

namespace {
void ok(cudaError_t e)
{
    if (e != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(e));
}

struct Event {
    cudaEvent_t handle = nullptr;
    explicit Event(unsigned int flags) { ok(cudaEventCreateWithFlags(&handle, flags)); }
    ~Event() { cudaEventDestroy(handle); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
};
}

float time_saxpy(int n, const float* x, float* y, cudaStream_t stream)
{
    Event start(cudaEventBlockingSync | cudaEventDisableTiming);
    Event stop(cudaEventBlockingSync | cudaEventDisableTiming);
    ok(cudaEventRecord(start.handle, stream));
    saxpy<<<(n + 255) / 256, 256, 0, stream>>>(n, 3.0f, x, y);
    ok(cudaGetLastError());
    ok(cudaEventRecord(stop.handle, stream));
    ok(cudaEventSynchronize(stop.handle));
    float ms = 0.0f;
    ok(cudaEventElapsedTime(&ms, start.handle, stop.handle));
    return ms;
}
