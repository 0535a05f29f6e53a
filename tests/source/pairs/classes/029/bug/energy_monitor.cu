#include <cuda_runtime.h>
#include <cstdio>
#include <stdexcept>

namespace md {

#define MD_CHECK(x)                                                     \
    do {                                                                \
        cudaError_t rc = (x);                                           \
        if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc)); \
    } while (false)

__global__ void kinetic(const float4* vel, int n, double* out)
{
    __shared__ double part[256];
    double s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float4 v = vel[i];
        s += 0.5 * v.w * (v.x * v.x + v.y * v.y + v.z * v.z);
    }
    part[threadIdx.x] = s;
    __syncthreads();
    for (int o = 128; o > 0; o >>= 1) {
        if (threadIdx.x < o) part[threadIdx.x] += part[threadIdx.x + o];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = part[0];
}

class EnergyMonitor {
public:
    explicit EnergyMonitor(cudaStream_t s) : stream_(s)
    {
        MD_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
        if (cudaMalloc(&d_e_, sizeof(double)) != cudaSuccess ||
            cudaMallocHost(&h_e_, sizeof(double)) != cudaSuccess) {
            cudaFree(d_e_);
            cudaEventDestroy(ready_);
            throw std::runtime_error("EnergyMonitor: out of memory");
        }
        *h_e_ = 0;
    }
    ~EnergyMonitor()
    {
        cudaEventSynchronize(ready_);
        cudaFreeHost(h_e_);
        cudaFree(d_e_);
        cudaEventDestroy(ready_);
    }
    EnergyMonitor(const EnergyMonitor&) = delete;
    EnergyMonitor& operator=(const EnergyMonitor&) = delete;

    // queued behind the integrator on the simulation stream
    void sample(const float4* vel, int n)
    {
        n_ = n;
        kinetic<<<1, 256, 0, stream_>>>(vel, n, d_e_);
        MD_CHECK(cudaGetLastError());
        MD_CHECK(cudaMemcpyAsync(h_e_, d_e_, sizeof(double), cudaMemcpyDeviceToHost, stream_));
        MD_CHECK(cudaEventRecord(ready_, stream_));
    }

    double total() const
    {
        return *h_e_;
    }

    double temperature() const { return n_ ? 2.0 * total() / (3.0 * n_ * kB) : 0.0; }

private:
    static constexpr double kB = 0.0083144621;
    cudaStream_t stream_;
    cudaEvent_t ready_ = nullptr;
    double* d_e_ = nullptr;
    double* h_e_ = nullptr;
    int n_ = 0;
};

class Thermostat {
public:
    Thermostat(EnergyMonitor& m, double target) : mon_(m), target_(target) {}

    double scale(const float4* vel, int n)
    {
        mon_.sample(vel, n);
        const double t = mon_.temperature();
        return t > 0 ? target_ / t : 1.0;
    }

private:
    EnergyMonitor& mon_;
    double target_;
};

} // namespace md
