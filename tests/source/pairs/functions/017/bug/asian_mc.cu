#include <cuda_runtime.h>
#include <curand.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

// Arithmetic Asian call by Monte Carlo. path-major normals: z[path * steps + step].

namespace mc {

struct Contract {
    double spot, strike, rate, vol, expiry;
    unsigned steps;
};

struct Estimate { double price, stderror; };

namespace {

template <class F>
class Defer {
public:
    explicit Defer(F f) : f_(std::move(f)) {}
    ~Defer() { f_(); }
    Defer(const Defer&) = delete;
    Defer& operator=(const Defer&) = delete;
private:
    F f_;
};

__global__ void payoff(const float* z, float* out, unsigned paths, unsigned steps, float s0,
                       float k, float drift, float sigma, float disc)
{
    unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths) return;
    float s = s0, avg = 0.f;
    for (unsigned t = 0; t < steps; ++t) {
        s *= __expf(drift + sigma * z[size_t(p) * steps + t]);
        avg += s;
    }
    avg /= steps;
    out[p] = disc * fmaxf(avg - k, 0.f);
}

}  // namespace

std::optional<Estimate> price(const Contract& c, unsigned paths, unsigned long long seed)
{
    const size_t draws = size_t(paths) * c.steps;

    float *z = nullptr, *pay = nullptr;
    curandGenerator_t gen = nullptr;
    Defer cleanup([&] {
        if (gen) curandDestroyGenerator(gen);
        cudaFree(pay);
        cudaFree(z);
    });

    if (cudaMalloc(&z, draws * sizeof(float)) != cudaSuccess) return std::nullopt;
    if (cudaMalloc(&pay, paths * sizeof(float)) != cudaSuccess) return std::nullopt;
    if (curandCreateGenerator(&gen, CURAND_RNG_PSEUDO_PHILOX4_32_10) != CURAND_STATUS_SUCCESS) {
        gen = nullptr;
        return std::nullopt;
    }
    if (curandSetPseudoRandomGeneratorSeed(gen, seed) != CURAND_STATUS_SUCCESS)
        return std::nullopt;

    curandGenerateNormal(gen, z, draws, 0.f, 1.f);

    const double dt = c.expiry / c.steps;
    payoff<<<(paths + 127) / 128, 128>>>(z, pay, paths, c.steps, float(c.spot), float(c.strike),
                                         float((c.rate - 0.5 * c.vol * c.vol) * dt),
                                         float(c.vol * std::sqrt(dt)),
                                         float(std::exp(-c.rate * c.expiry)));
    if (cudaGetLastError() != cudaSuccess) return std::nullopt;

    std::vector<float> host(paths);
    if (cudaMemcpy(host.data(), pay, paths * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess)
        return std::nullopt;

    double m = 0, m2 = 0;
    for (float v : host) { m += v; m2 += double(v) * v; }
    m /= paths;
    m2 = m2 / paths - m * m;
    return Estimate{m, std::sqrt(m2 / paths)};
}

}  // namespace mc
