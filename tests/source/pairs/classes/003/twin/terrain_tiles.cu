#include <cuda_runtime.h>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

static void die_on(cudaError_t rc, const char* where)
{
    if (rc == cudaSuccess) return;
    std::cerr << where << " failed: " << cudaGetErrorName(rc) << std::endl;
    std::exit(EXIT_FAILURE);
}

namespace terrain {

constexpr int kTileDim = 256;

__global__ void erode(float* h, int dim, float rate)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < dim && y < dim) h[y * dim + x] *= (1.0f - rate);
}

class Tile {
public:
    Tile(int tx, int ty, const std::vector<float>& heights) : tx(tx), ty(ty)
    {
        const size_t bytes = kTileDim * kTileDim * sizeof(float);
        die_on(cudaMalloc(&heights_, bytes), "tile alloc");
        die_on(cudaMemcpy(heights_, heights.data(), bytes, cudaMemcpyHostToDevice), "tile upload");
    }

    Tile(Tile&& o) noexcept : tx(o.tx), ty(o.ty), heights_(std::exchange(o.heights_, nullptr)) {}
    Tile(const Tile&) = delete;
    Tile& operator=(const Tile&) = delete;

    ~Tile() { cudaFree(heights_); }

    void erodeStep(float rate)
    {
        dim3 b(16, 16), g(kTileDim / 16, kTileDim / 16);
        erode<<<g, b>>>(heights_, kTileDim, rate);
        die_on(cudaGetLastError(), "erode");
    }

    void fetch(std::vector<float>& out) const
    {
        out.resize(kTileDim * kTileDim);
        die_on(cudaMemcpy(out.data(), heights_, out.size() * sizeof(float),
                          cudaMemcpyDeviceToHost), "tile fetch");
    }

    int tx, ty;

private:
    float* heights_ = nullptr;
};

class World {
public:
    void load(int tx, int ty, const std::vector<float>& heights)
    {
        tiles_.push_back(Tile(tx, ty, heights));
    }

    void tick(float dt)
    {
        for (auto& t : tiles_) t.erodeStep(0.01f * dt);
    }

    bool sample(int tx, int ty, std::vector<float>& out) const
    {
        for (const auto& t : tiles_) {
            if (t.tx == tx && t.ty == ty) {
                t.fetch(out);
                return true;
            }
        }
        return false;
    }

private:
    std::vector<Tile> tiles_;
};

} // namespace terrain

int main()
{
    std::vector<float> flat(terrain::kTileDim * terrain::kTileDim, 10.0f);
    terrain::World w;
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x)
            w.load(x, y, flat);
    for (int i = 0; i < 100; ++i) w.tick(0.016f);

    std::vector<float> got;
    if (w.sample(2, 3, got)) std::cout << got[0] << "\n";
    return 0;
}
