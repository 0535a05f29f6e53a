#include <cuda_runtime.h>
#include <iostream>
#include <stdexcept>

namespace sim {

inline void must(cudaError_t s) {
    if (s != cudaSuccess) throw std::runtime_error(cudaGetErrorString(s));
}

__global__ void spawn(float4* p, int count, float seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) p[i] = make_float4(seed * i, seed + i, seed, 1.0f);
}

class ParticleStore {
public:
    ParticleStore() = default;
    ParticleStore(const ParticleStore&) = delete;
    ParticleStore& operator=(const ParticleStore&) = delete;
    ~ParticleStore() { release(); }

    void ensure(int count) {
        if (count <= capacity_) return;
        int wanted = capacity_ ? capacity_ : 1024;
        while (wanted < count) wanted *= 2;
        release();
        must(cudaMalloc(reinterpret_cast<void**>(&particles_), wanted * sizeof(float4)));
        capacity_ = wanted;
    }

    void emit(int count, float seed) {
        ensure(count);
        spawn<<<(count + 255) / 256, 256>>>(particles_, count, seed);
        must(cudaGetLastError());
        must(cudaDeviceSynchronize());
    }

    float4 first() const {
        float4 out;
        must(cudaMemcpy(&out, particles_, sizeof(out), cudaMemcpyDeviceToHost));
        return out;
    }

private:
    void release() noexcept {
        if (particles_) cudaFree(particles_);
        particles_ = nullptr;
        capacity_ = 0;
    }

    float4* particles_ = nullptr;
    int capacity_ = 0;
};

}  // namespace sim

int main() {
    try {
        sim::ParticleStore store;
        for (int n = 1000; n <= 64000; n *= 4) {
            store.emit(n, 0.25f);
            std::cout << n << " particles, x0=" << store.first().x << "\n";
        }
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n";
        return 1;
    }
}
