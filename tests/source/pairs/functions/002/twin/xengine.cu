#include <cuda_runtime.h>
#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fx {

inline void must(cudaError_t e, const char* where) {
    if (e != cudaSuccess)
        throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

struct Geometry {
    int antennas;
    int channels;
    int samples;   // per integration
    size_t voltages() const { return size_t(antennas) * channels * samples; }
    size_t baselines() const { return size_t(antennas) * (antennas + 1) / 2; }
    size_t visibilities() const { return baselines() * channels; }
};

__global__ void correlate(const char2* v, float2* vis, int nant, int nchan, int nsamp) {
    int ch = blockIdx.x;
    for (int b = threadIdx.x; b < nant * (nant + 1) / 2; b += blockDim.x) {
        int i = 0, rest = b;
        while (rest > i) { rest -= i + 1; ++i; }
        int j = rest;
        float2 acc = make_float2(0.f, 0.f);
        for (int t = 0; t < nsamp; ++t) {
            char2 p = v[(size_t(t) * nchan + ch) * nant + i];
            char2 q = v[(size_t(t) * nchan + ch) * nant + j];
            acc.x += float(p.x) * q.x + float(p.y) * q.y;
            acc.y += float(p.y) * q.x - float(p.x) * q.y;
        }
        vis[size_t(b) * nchan + ch] = acc;
    }
}

class XEngine {
public:
    explicit XEngine(Geometry g) : g_(g) {
        try {
            must(cudaStreamCreateWithFlags(&proc_, cudaStreamNonBlocking), "stream");
            must(cudaStreamCreateWithFlags(&dump_, cudaStreamNonBlocking), "stream");
            must(cudaEventCreateWithFlags(&integrated_, cudaEventDisableTiming), "event");
            must(cudaMalloc(&volt_, g_.voltages() * sizeof(char2)), "voltages");
            must(cudaMalloc(&vis_, g_.visibilities() * sizeof(float2)), "vis");
            must(cudaMallocHost(&hostVis_, g_.visibilities() * sizeof(float2)), "host vis");
        } catch (...) {
            release();
            throw;
        }
    }
    ~XEngine() { release(); }
    XEngine(const XEngine&) = delete;
    XEngine& operator=(const XEngine&) = delete;

    // One integration; returns the autocorrelation power per channel of antenna 0.
    std::vector<float> integrate(const char2* packets) {
        must(cudaMemcpyAsync(volt_, packets, g_.voltages() * sizeof(char2),
                             cudaMemcpyHostToDevice, proc_), "h2d");
        correlate<<<g_.channels, 128, 0, proc_>>>(volt_, vis_, g_.antennas, g_.channels,
                                                  g_.samples);
        must(cudaGetLastError(), "correlate");
        must(cudaEventRecord(integrated_, proc_), "record");

        must(cudaStreamWaitEvent(dump_, integrated_, 0), "wait");
        must(cudaMemcpyAsync(hostVis_, vis_, g_.visibilities() * sizeof(float2),
                             cudaMemcpyDeviceToHost, dump_), "d2h");
        must(cudaStreamSynchronize(dump_), "sync");

        std::vector<float> power(g_.channels);
        for (int c = 0; c < g_.channels; ++c)
            power[c] = hostVis_[c].x / g_.samples;
        return power;
    }

private:
    void release() noexcept {
        if (proc_) cudaStreamSynchronize(proc_);
        if (dump_) cudaStreamSynchronize(dump_);
        if (hostVis_) cudaFreeHost(hostVis_);
        if (vis_) cudaFree(vis_);
        if (volt_) cudaFree(volt_);
        if (integrated_) cudaEventDestroy(integrated_);
        if (dump_) cudaStreamDestroy(dump_);
        if (proc_) cudaStreamDestroy(proc_);
    }

    Geometry g_;
    cudaStream_t proc_ = nullptr, dump_ = nullptr;
    cudaEvent_t integrated_ = nullptr;
    char2* volt_ = nullptr;
    float2* vis_ = nullptr;
    float2* hostVis_ = nullptr;
};

}  // namespace fx

std::vector<float> bandpass(const fx::Geometry& g, const std::vector<const char2*>& blocks) {
    fx::XEngine eng(g);
    std::vector<float> sum(g.channels, 0.f);
    for (const char2* b : blocks) {
        std::vector<float> p = eng.integrate(b);
        for (int c = 0; c < g.channels; ++c) sum[c] += p[c];
    }
    return sum;
}
