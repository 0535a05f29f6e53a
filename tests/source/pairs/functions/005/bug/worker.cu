#include "worker.hpp"

#include <cuda_runtime.h>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace membench {

__global__ void stream_copy(const float4* in, float4* out, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
         i += size_t(gridDim.x) * blockDim.x)
        out[i] = in[i];
}

Worker::Worker(int device, std::size_t bytes, int iterations)
    : device_(device), bytes_(bytes), iterations_(iterations) {
    result_.device = device;
    if (cudaSetDevice(device_) != cudaSuccess) throw std::runtime_error("bad device");
    if (cudaMalloc(&src_, bytes_) != cudaSuccess) throw std::runtime_error("no memory");
    if (cudaMalloc(&dst_, bytes_) != cudaSuccess) {
        cudaFree(src_);
        throw std::runtime_error("no memory");
    }
}

Worker::~Worker() {
    if (thread_.joinable()) thread_.join();
    cudaFree(dst_);
    cudaFree(src_);
}

void Worker::start(std::atomic<bool>& gate) {
    thread_ = std::thread([this, &gate] { body(gate); });
}

Result Worker::join() {
    thread_.join();
    return result_;
}

void Worker::body(std::atomic<bool>& gate) {
    cudaStream_t s = nullptr;
    cudaEvent_t t0 = nullptr, t1 = nullptr;
    const size_t n = bytes_ / sizeof(float4);
    float ms = 0.f;

    bool ready = cudaStreamCreate(&s) == cudaSuccess &&
                 cudaEventCreate(&t0) == cudaSuccess &&
                 cudaEventCreate(&t1) == cudaSuccess;

    while (!gate.load(std::memory_order_acquire)) std::this_thread::yield();

    if (ready) {
        cudaEventRecord(t0, s);
        for (int i = 0; i < iterations_; ++i)
            stream_copy<<<1024, 256, 0, s>>>(static_cast<const float4*>(src_),
                                             static_cast<float4*>(dst_), n);
        cudaEventRecord(t1, s);
        if (cudaGetLastError() == cudaSuccess && cudaEventSynchronize(t1) == cudaSuccess &&
            cudaEventElapsedTime(&ms, t0, t1) == cudaSuccess && ms > 0.f) {
            result_.gbps = 2.0 * bytes_ * iterations_ / (ms * 1e6);
            result_.ok = true;
        }
    }
    if (t1) cudaEventDestroy(t1);
    if (t0) cudaEventDestroy(t0);
    if (s) cudaStreamDestroy(s);
}

}  // namespace membench

int main() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 1;

    std::atomic<bool> gate{false};
    std::vector<std::unique_ptr<membench::Worker>> workers;
    for (int d = 0; d < count; ++d)
        workers.emplace_back(new membench::Worker(d, size_t(256) << 20, 50));
    for (auto& w : workers) w->start(gate);
    gate.store(true, std::memory_order_release);

    int bad = 0;
    for (auto& w : workers) {
        membench::Result r = w->join();
        if (!r.ok) ++bad;
        std::printf("gpu %d: %s %.1f GB/s\n", r.device, r.ok ? "ok" : "FAILED", r.gbps);
    }
    return bad ? 1 : 0;
}
