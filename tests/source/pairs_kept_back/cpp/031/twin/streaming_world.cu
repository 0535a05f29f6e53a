#include <cuda_runtime.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace world {

void ck(cudaError_t e, const char* w) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "world: %s: %s\n", w, cudaGetErrorString(e));
        std::exit(1);
    }
}

struct Chunk {
    int id;
    float* voxels;
};
constexpr int kVoxels = 32 * 32 * 32;

__global__ void generate(float* v, int id) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kVoxels) v[i] = __sinf(0.001f * i * (id + 1));
}
__global__ void light(const float* v, float* sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kVoxels) atomicAdd(sum, v[i]);
}

// Makes chunks in the background while the render thread goes on.
class Loader {
public:
    Loader() : th_([this] { work(); }) {}
    ~Loader() {
        stop_ = true;
        th_.join();
        while (!ready_.empty()) {
            cudaFree(ready_.front().voxels);
            ready_.pop();
        }
    }
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    bool poll(Chunk* out) {
        std::lock_guard<std::mutex> g(m_);
        if (ready_.empty()) return false;
        *out = ready_.front();
        ready_.pop();
        return true;
    }

private:
    void work() {
        cudaStream_t s;
        ck(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "loader stream");
        for (int id = 0; id < 200 && !stop_; ++id) {
            Chunk c{id, nullptr};
            ck(cudaMalloc(&c.voxels, kVoxels * sizeof(float)), "chunk");
            generate<<<kVoxels / 256, 256, 0, s>>>(c.voxels, id);
            ck(cudaGetLastError(), "generate");
            ck(cudaStreamSynchronize(s), "generate");
            std::lock_guard<std::mutex> g(m_);
            ready_.push(c);
        }
        ck(cudaStreamDestroy(s), "loader stream");
    }

    std::mutex m_;
    std::queue<Chunk> ready_;
    std::atomic<bool> stop_{false};
    std::thread th_;
};

cudaGraphExec_t record(const std::vector<Chunk>& chunks, float* sum, cudaStream_t s) {
    cudaGraph_t g;
    cudaGraphExec_t x;
    ck(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), "begin");
    ck(cudaMemsetAsync(sum, 0, sizeof(float), s), "clear");
    for (const Chunk& c : chunks) light<<<kVoxels / 256, 256, 0, s>>>(c.voxels, sum);
    ck(cudaStreamEndCapture(s, &g), "end");
    ck(cudaGraphInstantiate(&x, g, 0), "instantiate");
    ck(cudaGraphDestroy(g), "graph");
    return x;
}

}  // namespace world

int main() {
    using namespace world;
    cudaStream_t s;
    float* sum;
    ck(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
    ck(cudaMalloc(&sum, sizeof(float)), "sum");
    std::vector<Chunk> chunks;
    cudaGraphExec_t frame = record(chunks, sum, s);
    {
        Loader loader;
        for (int f = 0; f < 2000; ++f) {
            Chunk c;
            if (loader.poll(&c)) {
                chunks.push_back(c);
                ck(cudaGraphExecDestroy(frame), "old frame");
                frame = record(chunks, sum, s);
            }
            ck(cudaGraphLaunch(frame, s), "frame");
            ck(cudaStreamSynchronize(s), "frame");
        }
    }
    ck(cudaGraphExecDestroy(frame), "frame");
    for (Chunk& c : chunks) ck(cudaFree(c.voxels), "chunk");
    ck(cudaFree(sum), "sum");
    ck(cudaStreamDestroy(s), "stream");
    return 0;
}
