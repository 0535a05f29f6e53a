#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_OK(e) sph::cudaOk((e), #e, __LINE__)

namespace sph {

inline void cudaOk(cudaError_t e, const char* txt, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "[sph] %s (line %d): %s\n", txt, line, cudaGetErrorString(e));
    std::abort();
}

__global__ void density(const float4* pos, float* rho, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) rho[i] = pos[i].w;
}

__global__ void integrate(float4* pos, const float* rho, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) pos[i].y -= 0.001f * rho[i];
}

class Stepper {
public:
    Stepper() { CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Stepper()
    {
        cudaStreamSynchronize(stream_);
        dropGraph();
        cudaFree(pos_);
        cudaFree(rho_);
        cudaStreamDestroy(stream_);
    }
    Stepper(const Stepper&) = delete;
    Stepper& operator=(const Stepper&) = delete;

    void setParticles(const float4* host, int n)
    {
        CUDA_OK(cudaStreamSynchronize(stream_));
        reserve(n);
        if (n != n_) {
            n_ = n;
            dropGraph();
        }
        CUDA_OK(cudaMemcpyAsync(pos_, host, n * sizeof(float4), cudaMemcpyHostToDevice, stream_));
        CUDA_OK(cudaStreamSynchronize(stream_));
    }

    // room for emitters that spawn later; keeps the current particles
    void reserve(int cap)
    {
        if (cap <= cap_) return;
        CUDA_OK(cudaStreamSynchronize(stream_));
        float4* p = nullptr;
        float* r = nullptr;
        CUDA_OK(cudaMalloc(&p, cap * sizeof(float4)));
        CUDA_OK(cudaMalloc(&r, cap * sizeof(float)));
        if (n_ > 0)
            CUDA_OK(cudaMemcpy(p, pos_, n_ * sizeof(float4), cudaMemcpyDeviceToDevice));
        CUDA_OK(cudaDeviceSynchronize());
        CUDA_OK(cudaFree(pos_));
        CUDA_OK(cudaFree(rho_));
        pos_ = p;
        rho_ = r;
        cap_ = cap;
    }

    void step(int substeps)
    {
        if (n_ == 0) return;
        if (!exec_) record();
        for (int i = 0; i < substeps; ++i) CUDA_OK(cudaGraphLaunch(exec_, stream_));
    }

    void read(float4* host)
    {
        CUDA_OK(cudaStreamSynchronize(stream_));
        CUDA_OK(cudaMemcpy(host, pos_, n_ * sizeof(float4), cudaMemcpyDeviceToHost));
    }

private:
    void record()
    {
        cudaGraph_t g = nullptr;
        const int blocks = (n_ + 127) / 128;
        CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        density<<<blocks, 128, 0, stream_>>>(pos_, rho_, n_);
        integrate<<<blocks, 128, 0, stream_>>>(pos_, rho_, n_);
        CUDA_OK(cudaStreamEndCapture(stream_, &g));
        CUDA_OK(cudaGraphInstantiateWithFlags(&exec_, g, 0));
        CUDA_OK(cudaGraphDestroy(g));
    }

    void dropGraph()
    {
        if (exec_) cudaGraphExecDestroy(exec_);
        exec_ = nullptr;
    }

    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    float4* pos_ = nullptr;
    float* rho_ = nullptr;
    int n_ = 0, cap_ = 0;
};

} // namespace sph
