#include <cuda_runtime.h>
#include <curand.h>
#include <memory>
#include <stdexcept>
#include <vector>

namespace mc {

template <class Status>
void verify(Status s, Status good, const char* msg)
{
    if (s != good) throw std::runtime_error(msg);
}
#define CUDA_V(x) verify((x), cudaSuccess, #x)
#define RAND_V(x) verify((x), CURAND_STATUS_SUCCESS, #x)

struct StreamDel { void operator()(cudaStream_t s) const { cudaStreamDestroy(s); } };
struct GenDel { void operator()(curandGenerator_t g) const { curandDestroyGenerator(g); } };
struct DevDel { void operator()(float* p) const { cudaFree(p); } };

using UStream = std::unique_ptr<CUstream_st, StreamDel>;
using UGen = std::unique_ptr<curandGenerator_st, GenDel>;
using UFloats = std::unique_ptr<float, DevDel>;

static UStream newStream()
{
    cudaStream_t s;
    CUDA_V(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return UStream(s);
}

static UGen newGenerator(unsigned long long seed, cudaStream_t s)
{
    curandGenerator_t g;
    RAND_V(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    UGen own(g);
    RAND_V(curandSetPseudoRandomGeneratorSeed(g, seed));
    RAND_V(curandSetStream(g, s));
    return own;
}

static UFloats newFloats(size_t n)
{
    void* p = nullptr;
    CUDA_V(cudaMalloc(&p, n * sizeof(float)));
    return UFloats(static_cast<float*>(p));
}

__global__ void payoff(const float* z, float* v, int n, float s0, float k, float drift, float vol)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = fmaxf(s0 * expf(drift + vol * z[i]) - k, 0.f);
}

class Engine {
public:
    Engine(int paths, unsigned long long seed)
        : n_((paths + 1) & ~1),
          stream_(newStream()),
          gen_(newGenerator(seed, stream_.get())),
          normals_(newFloats(n_)),
          values_(newFloats(n_)) {}

    ~Engine() { cudaStreamSynchronize(stream_.get()); }

    double callPrice(float s0, float k, float r, float sigma, float t)
    {
        RAND_V(curandGenerateNormal(gen_.get(), normals_.get(), n_, 0.f, 1.f));
        payoff<<<(n_ + 255) / 256, 256, 0, stream_.get()>>>(
            normals_.get(), values_.get(), n_, s0, k, (r - 0.5f * sigma * sigma) * t, sigma * sqrtf(t));
        CUDA_V(cudaGetLastError());
        std::vector<float> v(n_);
        CUDA_V(cudaMemcpyAsync(v.data(), values_.get(), n_ * sizeof(float), cudaMemcpyDeviceToHost, stream_.get()));
        CUDA_V(cudaStreamSynchronize(stream_.get()));
        double sum = 0;
        for (float x : v) sum += x;
        return expf(-r * t) * sum / n_;
    }

private:
    int n_;
    UStream stream_;
    UGen gen_;
    UFloats normals_;
    UFloats values_;
};

} // namespace mc
