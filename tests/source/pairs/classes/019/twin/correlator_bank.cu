#include <cuda_runtime.h>
#include <complex>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace xcorr {

static void req(cudaError_t e, const char* ctx)
{
    if (e != cudaSuccess)
        throw std::runtime_error(std::string("xcorr/") + ctx + ": " + cudaGetErrorString(e));
}

class DeviceGuard {
public:
    explicit DeviceGuard(int dev)
    {
        req(cudaGetDevice(&prev_), "get device");
        req(cudaSetDevice(dev), "set device");
    }
    ~DeviceGuard() { cudaSetDevice(prev_); }
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;
private:
    int prev_ = 0;
};

__global__ void cmac(const float2* a, const float2* b, float2* acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    acc[i].x += a[i].x * b[i].x + a[i].y * b[i].y;
    acc[i].y += a[i].y * b[i].x - a[i].x * b[i].y;
}

class Correlator {
public:
    Correlator(int device, int nchan) : device_(device), nchan_(nchan)
    {
        DeviceGuard guard{device_};
        try {
            req(cudaStreamCreate(&stream_), "stream");
            for (float2** p : {&a_, &b_, &acc_})
                req(cudaMalloc(p, nchan * sizeof(float2)), "buffer");
            req(cudaMemsetAsync(acc_, 0, nchan * sizeof(float2), stream_), "clear");
        } catch (...) {
            free_all();
            throw;
        }
    }
    ~Correlator()
    {
        DeviceGuard guard{device_};
        free_all();
    }
    Correlator(const Correlator&) = delete;
    Correlator& operator=(const Correlator&) = delete;

    void push(const std::complex<float>* a, const std::complex<float>* b)
    {
        DeviceGuard guard{device_};
        const size_t bytes = nchan_ * sizeof(float2);
        req(cudaMemcpyAsync(a_, a, bytes, cudaMemcpyHostToDevice, stream_), "a");
        req(cudaMemcpyAsync(b_, b, bytes, cudaMemcpyHostToDevice, stream_), "b");
        cmac<<<(nchan_ + 127) / 128, 128, 0, stream_>>>(a_, b_, acc_, nchan_);
        req(cudaGetLastError(), "cmac");
        req(cudaStreamSynchronize(stream_), "push");
    }

    std::vector<std::complex<float>> result()
    {
        DeviceGuard guard{device_};
        std::vector<std::complex<float>> out(nchan_);
        req(cudaMemcpyAsync(out.data(), acc_, nchan_ * sizeof(float2), cudaMemcpyDeviceToHost, stream_), "d2h");
        req(cudaStreamSynchronize(stream_), "result");
        return out;
    }

private:
    void free_all() noexcept
    {
        if (stream_) cudaStreamSynchronize(stream_);
        cudaFree(a_);
        cudaFree(b_);
        cudaFree(acc_);
        if (stream_) cudaStreamDestroy(stream_);
    }

    int device_, nchan_;
    cudaStream_t stream_ = nullptr;
    float2 *a_ = nullptr, *b_ = nullptr, *acc_ = nullptr;
};

std::vector<std::unique_ptr<Correlator>> makeBank(int nchan)
{
    int n = 0;
    req(cudaGetDeviceCount(&n), "count");
    std::vector<std::unique_ptr<Correlator>> bank;
    for (int d = 0; d < n; ++d) bank.push_back(std::make_unique<Correlator>(d, nchan));
    return bank;
}

} // namespace xcorr
