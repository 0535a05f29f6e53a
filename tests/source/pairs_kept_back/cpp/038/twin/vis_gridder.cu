#include "vis_gridder.hpp"

namespace grid {

__global__ void scatter(const float2* uv, const float2* vis, std::size_t n, float2* g, int side) {
    std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    int x = int(uv[i].x) + side / 2, y = int(uv[i].y) + side / 2;
    if (x < 0 || y < 0 || x >= side || y >= side) return;
    float2* c = g + std::size_t(y) * side + x;
    atomicAdd(&c->x, vis[i].x);
    atomicAdd(&c->y, vis[i].y);
}

Gridder::Gridder(int side, std::size_t max_vis) : side_(side) {
    uv_.allocate(max_vis, stream_.get());
    vis_.allocate(max_vis, stream_.get());
    grid_.allocate(std::size_t(side) * side, stream_.get());
    expect(cudaMemsetAsync(grid_.get(), 0, grid_.size() * sizeof(float2), stream_.get()));
}

void Gridder::add(const float2* uv, const float2* vis, std::size_t n) {
    if (n > uv_.size()) throw std::length_error("too many visibilities");
    if (n == 0) return;
    const cudaStream_t s = stream_.get();
    expect(cudaMemcpyAsync(uv_.get(), uv, n * sizeof(float2), cudaMemcpyHostToDevice, s));
    expect(cudaMemcpyAsync(vis_.get(), vis, n * sizeof(float2), cudaMemcpyHostToDevice, s));
    scatter<<<unsigned((n + 255) / 256), 256, 0, s>>>(uv_.get(), vis_.get(), n, grid_.get(), side_);
    expect(cudaGetLastError());
    expect(cudaStreamSynchronize(s));
}

void Gridder::fetch(std::complex<float>* image) {
    expect(cudaMemcpyAsync(image, grid_.get(), grid_.size() * sizeof(float2),
                           cudaMemcpyDeviceToHost, stream_.get()));
    expect(cudaStreamSynchronize(stream_.get()));
}

}  // namespace grid
