#include "filter.h"
#include <vector>

namespace audio {
namespace {

__global__ void gainKernel(float* x, int n, float g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= g;
}

__global__ void echoKernel(float* x, float* line, int n, float fb)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float y = x[i] + fb * line[i];
    line[i] = y;
    x[i] = y;
}

class Gain final : public Filter {
public:
    bool process(float* d, int n, cudaStream_t s) override
    {
        gainKernel<<<(n + 255) / 256, 256, 0, s>>>(d, n, 0.8f);
        return cudaGetLastError() == cudaSuccess;
    }
    const char* name() const override { return "gain"; }
};

class Echo final : public Filter {
public:
    ~Echo() { cudaFree(line_); }

    bool init(int maxBlock)
    {
        max_ = maxBlock;
        if (cudaMalloc(&line_, maxBlock * sizeof(float)) != cudaSuccess) {
            line_ = nullptr;
            return false;
        }
        return cudaMemset(line_, 0, maxBlock * sizeof(float)) == cudaSuccess &&
               cudaDeviceSynchronize() == cudaSuccess;
    }
    bool process(float* d, int n, cudaStream_t s) override
    {
        if (n > max_) return false;
        echoKernel<<<(n + 255) / 256, 256, 0, s>>>(d, line_, n, 0.35f);
        return cudaGetLastError() == cudaSuccess;
    }
    const char* name() const override { return "echo"; }

private:
    float* line_ = nullptr;
    int max_ = 0;
};

} // namespace

std::unique_ptr<Filter> makeFilter(const std::string& name, int maxBlock)
{
    if (name == "gain") return std::make_unique<Gain>();
    if (name == "echo") {
        auto e = std::make_unique<Echo>();
        if (!e->init(maxBlock)) return nullptr;
        return e;
    }
    return nullptr;
}

class Chain {
public:
    bool add(const std::string& name, int maxBlock)
    {
        auto f = makeFilter(name, maxBlock);
        if (!f) return false;
        filters_.push_back(std::move(f));
        return true;
    }
    bool run(float* d, int n, cudaStream_t s)
    {
        for (auto& f : filters_)
            if (!f->process(d, n, s)) return false;
        return cudaStreamSynchronize(s) == cudaSuccess;
    }
    void clear() { filters_.clear(); }

private:
    std::vector<std::unique_ptr<Filter>> filters_;
};

} // namespace audio
