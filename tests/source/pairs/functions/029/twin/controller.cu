#include "replay.hpp"
#include <array>
#include <memory>
#include <vector>

namespace mpc {

constexpr int kHorizon = 64;
constexpr int kRollouts = 4096;

__global__ void rollout(const float* weights, const float* state, float* cost) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= kRollouts) return;
    float x = state[0], v = state[1], c = 0.f;
    for (int t = 0; t < kHorizon; ++t) {
        float u = ((r * 7919 + t * 104729) % 2001 - 1000) * 1e-3f;
        v += 0.02f * u;
        x += 0.02f * v;
        c += weights[t] * (x * x + 0.1f * v * v);
    }
    cost[r] = c;
}

struct FreeDev { void operator()(void* p) const { cudaFree(p); } };
struct FreePinned { void operator()(void* p) const { cudaFreeHost(p); } };
using DevF = std::unique_ptr<float, FreeDev>;
using PinF = std::unique_ptr<float, FreePinned>;

static DevF dev_floats(size_t n) {
    void* p = nullptr;
    gpu(cudaMalloc(&p, n * sizeof(float)), "cudaMalloc");
    return DevF(static_cast<float*>(p));
}
static PinF pinned_floats(size_t n) {
    void* p = nullptr;
    gpu(cudaMallocHost(&p, n * sizeof(float)), "cudaMallocHost");
    return PinF(static_cast<float*>(p));
}

class Controller {
public:
    Controller(cudaStream_t s, float discount)
        : stream_(s), replay_(s), weights_(dev_floats(kHorizon)), state_(dev_floats(2)),
          cost_(dev_floats(kRollouts)), h_state_(pinned_floats(2)),
          h_cost_(pinned_floats(kRollouts)), h_weights_(pinned_floats(kHorizon)) {
        float w = 1.f;
        for (int t = 0; t < kHorizon; ++t, w *= discount) h_weights_.get()[t] = w;
        replay_.record([&](cudaStream_t cs) {
            gpu(cudaMemcpyAsync(weights_.get(), h_weights_.get(), kHorizon * sizeof(float),
                                cudaMemcpyHostToDevice, cs), "weights");
            gpu(cudaMemcpyAsync(state_.get(), h_state_.get(), 2 * sizeof(float),
                                cudaMemcpyHostToDevice, cs), "state");
            rollout<<<kRollouts / 256, 256, 0, cs>>>(weights_.get(), state_.get(), cost_.get());
            gpu(cudaGetLastError(), "rollout");
            gpu(cudaMemcpyAsync(h_cost_.get(), cost_.get(), kRollouts * sizeof(float),
                                cudaMemcpyDeviceToHost, cs), "cost");
        });
    }

    // Best rollout for the measured state.
    int plan(float x, float v) {
        h_state_.get()[0] = x;
        h_state_.get()[1] = v;
        replay_.launch();
        gpu(cudaStreamSynchronize(stream_), "sync");
        int best = 0;
        for (int r = 1; r < kRollouts; ++r)
            if (h_cost_.get()[r] < h_cost_.get()[best]) best = r;
        return best;
    }

private:
    cudaStream_t stream_;
    Replay replay_;
    DevF weights_, state_, cost_;
    PinF h_state_, h_cost_, h_weights_;
};

std::vector<int> drive(const std::vector<std::array<float, 2>>& log) {
    cudaStream_t s = nullptr;
    gpu(cudaStreamCreate(&s), "stream");
    std::unique_ptr<CUstream_st, cudaError_t (*)(cudaStream_t)> owner(s, cudaStreamDestroy);
    Controller c(s, 0.97f);
    std::vector<int> chosen;
    for (const auto& st : log) chosen.push_back(c.plan(st[0], st[1]));
    return chosen;
}

}  // namespace mpc
