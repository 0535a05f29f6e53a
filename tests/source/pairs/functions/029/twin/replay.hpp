#pragma once
#include <cuda_runtime.h>
#include <stdexcept>
#include <utility>

namespace mpc {

inline void gpu(cudaError_t e, const char* what) {
    if (e != cudaSuccess) throw std::runtime_error(what);
}

// Captures once, launches many times.
class Replay {
public:
    explicit Replay(cudaStream_t s) : stream_(s) {}
    ~Replay() { if (exec_) cudaGraphExecDestroy(exec_); }
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    template <class Body>
    void record(Body&& body) {
        if (exec_) throw std::logic_error("already recorded");
        cudaGraph_t g = nullptr;
        gpu(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin capture");
        try {
            std::forward<Body>(body)(stream_);
        } catch (...) {
            cudaStreamEndCapture(stream_, &g);
            if (g) cudaGraphDestroy(g);
            throw;
        }
        gpu(cudaStreamEndCapture(stream_, &g), "end capture");
        cudaError_t e = cudaGraphInstantiateWithFlags(&exec_, g, 0);
        cudaGraphDestroy(g);
        gpu(e, "instantiate");
    }

    void launch() { gpu(cudaGraphLaunch(exec_, stream_), "launch"); }

private:
    cudaStream_t stream_;
    cudaGraphExec_t exec_ = nullptr;
};

}  // namespace mpc
