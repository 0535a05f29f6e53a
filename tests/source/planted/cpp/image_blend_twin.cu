#include <cuda_runtime.h>
#include <stdexcept>

constexpr int kTile = 32;

__global__ void blend(const float4* a, const float4* b, float4* out, float t, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float4 p = a[y * w + x];
    float4 q = b[y * w + x];
    out[y * w + x] = make_float4(p.x + t * (q.x - p.x), p.y + t * (q.y - p.y), p.z + t * (q.z - p.z), 1.0f);
}

void blend_images(const float4* a, const float4* b, float4* out, float t, int w, int h, cudaStream_t stream)
{
    dim3 block(kTile, kTile);
    dim3 grid((w + kTile - 1) / kTile, (h + kTile - 1) / kTile);
    blend<<<grid, block, 0, stream>>>(a, b, out, t, w, h);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(err));
}
