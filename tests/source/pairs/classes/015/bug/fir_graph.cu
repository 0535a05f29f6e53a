#include <cuda_runtime.h>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <vector>

#define GCHK(expr)                                                           \
    if (cudaError_t err__ = (expr); err__ != cudaSuccess) {                  \
        std::ostringstream os__;                                             \
        os__ << #expr << ": " << cudaGetErrorName(err__);                    \
        throw std::runtime_error(os__.str());                                \
    }

__global__ void fir(const float* x, const float* taps, float* y, int n, int ntaps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.f;
    for (int k = 0; k < ntaps && k <= i; ++k) s += taps[k] * x[i - k];
    y[i] = s;
}

static std::vector<float> hamming(int n)
{
    std::vector<float> w(n);
    for (int i = 0; i < n; ++i) w[i] = 0.54f - 0.46f * std::cos(6.2831853f * i / (n - 1));
    return w;
}

class FirGraph {
public:
    FirGraph(float* d_x, float* d_y, int n, int ntaps) : n_(n), ntaps_(ntaps)
    {
        try {
            GCHK(cudaMalloc(&d_taps_, ntaps * sizeof(float)));
            build(d_x, d_y);
        } catch (...) {
            release();
            throw;
        }
    }
    ~FirGraph() { release(); }
    FirGraph(const FirGraph&) = delete;
    FirGraph& operator=(const FirGraph&) = delete;

    void launch(cudaStream_t s) { GCHK(cudaGraphLaunch(exec_, s)); }

private:
    void build(float* d_x, float* d_y)
    {
        GCHK(cudaGraphCreate(&graph_, 0));

        std::vector<float> taps = hamming(ntaps_);

        cudaGraphNode_t up{}, kern{};
        GCHK(cudaGraphAddMemcpyNode1D(&up, graph_, nullptr, 0, d_taps_, taps.data(),
                                      ntaps_ * sizeof(float), cudaMemcpyHostToDevice));

        void* args[] = {&d_x, &d_taps_, &d_y, &n_, &ntaps_};
        cudaKernelNodeParams kp{};
        kp.func = reinterpret_cast<void*>(fir);
        kp.gridDim = dim3((n_ + 255) / 256);
        kp.blockDim = dim3(256);
        kp.kernelParams = args;
        GCHK(cudaGraphAddKernelNode(&kern, graph_, &up, 1, &kp));

        GCHK(cudaGraphInstantiateWithFlags(&exec_, graph_, 0));
    }

    void release()
    {
        cudaDeviceSynchronize();
        if (exec_) cudaGraphExecDestroy(exec_);
        if (graph_) cudaGraphDestroy(graph_);
        cudaFree(d_taps_);
    }

    int n_, ntaps_;
    float* d_taps_ = nullptr;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};
