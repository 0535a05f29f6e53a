#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(cudaError_t e) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "fatal: %s\n", cudaGetErrorString(e));
        std::abort();
    }
}

__global__ void embed(const int* tok, float* act, int n, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * dim) act[i] = __sinf(tok[i / dim] * 0.01f + i % dim);
}
__global__ void score(const float* act, float* out, int n, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k < dim; ++k) s += act[i * dim + k];
    out[i] = s / dim;
}

class BatchRunner {
public:
    static constexpr int kDim = 256;
    static constexpr int kBuckets = 12;

    BatchRunner() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~BatchRunner() {
        cudaStreamSynchronize(stream_);
        dropGraphs();
        cudaFree(tok_);
        cudaFree(act_);
        cudaFree(out_);
        cudaStreamDestroy(stream_);
    }
    BatchRunner(const BatchRunner&) = delete;
    BatchRunner& operator=(const BatchRunner&) = delete;

    std::vector<float> run(const std::vector<int>& tokens) {
        int bucket = 0;
        while ((1 << bucket) < int(tokens.size())) ++bucket;
        if (bucket >= kBuckets) return {};
        const int n = 1 << bucket;
        grow(n);
        if (!graphs_[bucket]) graphs_[bucket] = capture(n);

        must(cudaMemcpyAsync(tok_, tokens.data(), tokens.size() * sizeof(int),
                             cudaMemcpyHostToDevice, stream_));
        must(cudaGraphLaunch(graphs_[bucket], stream_));
        std::vector<float> res(tokens.size());
        must(cudaMemcpyAsync(res.data(), out_, res.size() * sizeof(float),
                             cudaMemcpyDeviceToHost, stream_));
        must(cudaStreamSynchronize(stream_));
        return res;
    }

private:
    void grow(int n) {
        if (n <= cap_) return;
        must(cudaStreamSynchronize(stream_));
        must(cudaFree(tok_));
        must(cudaFree(act_));
        must(cudaFree(out_));
        must(cudaMalloc(&tok_, n * sizeof(int)));
        must(cudaMemset(tok_, 0, n * sizeof(int)));
        must(cudaMalloc(&act_, size_t(n) * kDim * sizeof(float)));
        must(cudaMalloc(&out_, n * sizeof(float)));
        must(cudaDeviceSynchronize());
        dropGraphs();
        cap_ = n;
    }

    cudaGraphExec_t capture(int n) {
        cudaGraph_t g;
        cudaGraphExec_t x;
        must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
        embed<<<(n * kDim + 255) / 256, 256, 0, stream_>>>(tok_, act_, n, kDim);
        score<<<(n + 127) / 128, 128, 0, stream_>>>(act_, out_, n, kDim);
        must(cudaStreamEndCapture(stream_, &g));
        must(cudaGraphInstantiate(&x, g, 0));
        must(cudaGraphDestroy(g));
        return x;
    }

    void dropGraphs() {
        for (auto& g : graphs_) {
            if (g) cudaGraphExecDestroy(g);
            g = nullptr;
        }
    }

    cudaStream_t stream_{};
    cudaGraphExec_t graphs_[kBuckets]{};
    int cap_ = 0;
    int* tok_ = nullptr;
    float* act_ = nullptr;
    float* out_ = nullptr;
};

int main() {
    BatchRunner r;
    for (int n : {3, 17, 4, 900, 20, 5})
        std::printf("%d -> %f\n", n, r.run(std::vector<int>(n, 7)).at(0));
}
