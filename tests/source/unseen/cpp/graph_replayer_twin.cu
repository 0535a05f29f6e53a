#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_REQUIRE(stmt)                                                   \
    if (cudaError_t err_ = (stmt); err_ != cudaSuccess) {                    \
        std::fprintf(stderr, "%s: %s\n", #stmt, cudaGetErrorString(err_));   \
        std::exit(1);                                                        \
    }

__global__ void accumulate(double* state, int n, double rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) state[i] += rate * (1.0 - state[i]);
}

class Replayer {
public:
    Replayer(double* state, int n) : state_(state), n_(n) {
        CUDA_REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    Replayer(const Replayer&) = delete;
    Replayer& operator=(const Replayer&) = delete;

    ~Replayer() {
        if (exec_) CUDA_REQUIRE(cudaGraphExecDestroy(exec_));
        CUDA_REQUIRE(cudaStreamDestroy(stream_));
    }

    void setRate(double rate) {
        if (rate == rate_) return;
        rate_ = rate;
        if (exec_) {
            CUDA_REQUIRE(cudaStreamSynchronize(stream_));
            CUDA_REQUIRE(cudaGraphExecDestroy(exec_));
            exec_ = nullptr;
        }
    }

    void step() {
        if (!exec_) build();
        CUDA_REQUIRE(cudaGraphLaunch(exec_, stream_));
    }

    void wait() { CUDA_REQUIRE(cudaStreamSynchronize(stream_)); }

private:
    void build() {
        cudaGraph_t graph = nullptr;
        CUDA_REQUIRE(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
        accumulate<<<(n_ + 127) / 128, 128, 0, stream_>>>(state_, n_, rate_);
        CUDA_REQUIRE(cudaGetLastError());
        CUDA_REQUIRE(cudaStreamEndCapture(stream_, &graph));
        CUDA_REQUIRE(cudaGraphInstantiateWithFlags(&exec_, graph, 0));
        CUDA_REQUIRE(cudaGraphDestroy(graph));
    }

    double* state_;
    int n_;
    double rate_ = 0.1;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};

int main() {
    const int n = 4096;
    double* state = nullptr;
    CUDA_REQUIRE(cudaMalloc(&state, n * sizeof(double)));
    CUDA_REQUIRE(cudaMemset(state, 0, n * sizeof(double)));
    CUDA_REQUIRE(cudaDeviceSynchronize());
    {
        Replayer r(state, n);
        for (int i = 0; i < 50; ++i) r.step();
        r.setRate(0.05);
        for (int i = 0; i < 50; ++i) r.step();
        r.wait();
    }
    CUDA_REQUIRE(cudaFree(state));
}
