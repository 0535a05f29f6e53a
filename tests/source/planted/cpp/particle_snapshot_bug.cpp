#include <cuda_runtime.h>
#include <fstream>
#include <string>
#include <vector>

struct Particle {
    float x, y, z, w;
    float vx, vy, vz, mass;
};

class Snapshot {
public:
    explicit Snapshot(std::string prefix) : prefix_(std::move(prefix)) {}

    bool write(const Particle* d_particles, std::size_t count, int step)
    {
        std::vector<Particle> host(count);
        cudaError_t err = cudaDeviceSynchronize();
        if (err != cudaSuccess)
            return false;
        err = cudaMemcpy(host.data(), d_particles, count * sizeof(Particle), cudaMemcpyHostToDevice);
        if (err != cudaSuccess)
            return false;
        std::ofstream out(prefix_ + std::to_string(step) + ".bin", std::ios::binary);
        out.write(reinterpret_cast<const char*>(host.data()), static_cast<std::streamsize>(count * sizeof(Particle)));
        return static_cast<bool>(out);
    }

private:
    std::string prefix_;
};
