#include <cuda_runtime.h>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace smoke {

struct Emitter {
    float3 at;
    float rate;
    bool on;
};

struct Grid {
    float* density;
    float* scratch;
    int n;
};

__global__ void emit(float* d, int n, float3 at, float rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n * n) return;
    float x = i % n - at.x, y = (i / n) % n - at.y, z = i / (n * n) - at.z;
    if (x * x + y * y + z * z < 9.f) d[i] += rate;
}

__global__ void blur(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int total = n * n * n;
    if (i >= total) return;
    float l = i > 0 ? in[i - 1] : in[i], r = i + 1 < total ? in[i + 1] : in[i];
    out[i] = 0.98f * (0.5f * in[i] + 0.25f * (l + r));
}

inline void cu(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// One frame as a graph; emitters may be switched on, off and moved between frames.
class FrameGraph {
public:
    explicit FrameGraph(const Grid& g) : grid_(g) {
        cu(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    ~FrameGraph() {
        cudaStreamSynchronize(stream_);
        if (exec_) cudaGraphExecDestroy(exec_);
        cudaStreamDestroy(stream_);
    }
    FrameGraph(const FrameGraph&) = delete;
    FrameGraph& operator=(const FrameGraph&) = delete;

    void frame(const std::vector<Emitter>& emitters) {
        cudaGraph_t g = capture(emitters);
        cudaError_t e = refresh(g);
        cudaGraphDestroy(g);
        cu(e);
        cu(cudaGraphLaunch(exec_, stream_));
    }

    void wait() { cu(cudaStreamSynchronize(stream_)); }

private:
    cudaGraph_t capture(const std::vector<Emitter>& emitters) {
        const int total = grid_.n * grid_.n * grid_.n, blocks = (total + 255) / 256;
        cudaGraph_t g = nullptr;
        cu(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        for (const Emitter& e : emitters)
            if (e.on)
                emit<<<blocks, 256, 0, stream_>>>(grid_.density, grid_.n, e.at, e.rate);
        blur<<<blocks, 256, 0, stream_>>>(grid_.density, grid_.scratch, grid_.n);
        blur<<<blocks, 256, 0, stream_>>>(grid_.scratch, grid_.density, grid_.n);
        cudaError_t launched = cudaGetLastError();
        cudaError_t ended = cudaStreamEndCapture(stream_, &g);
        if (launched != cudaSuccess || ended != cudaSuccess) {
            if (g) cudaGraphDestroy(g);
            cu(launched != cudaSuccess ? launched : ended);
        }
        return g;
    }

    cudaError_t refresh(cudaGraph_t g) {
        if (exec_) {
            cudaGraphExecUpdateResultInfo info;
            if (cudaGraphExecUpdate(exec_, g, &info) == cudaSuccess) return cudaSuccess;
            cudaGetLastError();
            cudaGraphExecDestroy(exec_);
            exec_ = nullptr;
        }
        return cudaGraphInstantiateWithFlags(&exec_, g, 0);
    }

    Grid grid_;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};

void play(const Grid& g, std::vector<Emitter> emitters, int frames) {
    FrameGraph fg(g);
    for (int f = 0; f < frames; ++f) {
        for (size_t i = 0; i < emitters.size(); ++i) {
            emitters[i].at.y += 0.1f;
            emitters[i].on = (f / 30 + i) % 3 != 0;
        }
        fg.frame(emitters);
    }
    fg.wait();
}

}  // namespace smoke
