#include "gl_heightfield.h"
#include <cstdio>

namespace engine {

namespace {

bool report(cudaError_t e, const char* what)
{
    if (e == cudaSuccess) return true;
    std::fprintf(stderr, "heightfield: %s (%s)\n", what, cudaGetErrorString(e));
    return false;
}

__global__ void waves(float4* v, int dim, float t)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= dim || y >= dim) return;
    float u = x / (float)dim, w = y / (float)dim;
    v[y * dim + x] = make_float4(u, 0.1f * sinf(8.f * u + t) * cosf(8.f * w + t), w, 1.f);
}

} // namespace

void launchWaves(float4* verts, int dim, float time, cudaStream_t stream)
{
    dim3 b(16, 16), g((dim + 15) / 16, (dim + 15) / 16);
    waves<<<g, b, 0, stream>>>(verts, dim, time);
}

GlHeightfield::GlHeightfield(unsigned int vbo, int dim) : dim_(dim)
{
    if (!report(cudaGraphicsGLRegisterBuffer(&res_, vbo, cudaGraphicsRegisterFlagsWriteDiscard), "register"))
        res_ = nullptr;
}

GlHeightfield::~GlHeightfield()
{
    if (res_) cudaGraphicsUnregisterResource(res_);
}

bool GlHeightfield::update(float time, cudaStream_t stream)
{
    if (!res_) return false;
    if (!report(cudaGraphicsMapResources(1, &res_, stream), "map")) return false;

    float4* verts = nullptr;
    size_t bytes = 0;
    bool done = report(cudaGraphicsResourceGetMappedPointer((void**)&verts, &bytes, res_), "mapped pointer");

    if (done && bytes < sizeof(float4) * dim_ * dim_) {
        // buffer was re-specified by the level loader
        std::fprintf(stderr, "heightfield: vbo holds %zu bytes, dim %d\n", bytes, dim_);
        done = false;
    }
    if (done) {
        launchWaves(verts, dim_, time, stream);
        done = report(cudaGetLastError(), "waves");
    }
    if (!report(cudaGraphicsUnmapResources(1, &res_, stream), "unmap")) done = false;
    return done;
}

} // namespace engine
