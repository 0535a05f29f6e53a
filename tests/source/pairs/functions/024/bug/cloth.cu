#include "cloth.h"
#include <cstdio>

__global__ static void integrate(ClothVertex* v, float3* vel, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 u = vel[i];
    u.y -= 9.81f * dt;
    v[i].px += u.x * dt;
    v[i].py += u.y * dt;
    v[i].pz += u.z * dt;
    if (v[i].py < 0.f) {
        v[i].py = 0.f;
        u.y *= -0.2f;
    }
    vel[i] = u;
}

static bool logError(const char* what, cudaError_t e)
{
    if (e == cudaSuccess) return false;
    std::fprintf(stderr, "[cloth] %s: %s\n", what, cudaGetErrorString(e));
    return true;
}

bool clothSimulate(Cloth& c, float dt, cudaStream_t stream)
{
    if (dt <= 0.f || c.vertices == 0)
        return false;

    if (logError("map", cudaGraphicsMapResources(1, &c.vbo, stream))) {
        ++c.skipped;
        return false;
    }

    ClothVertex* verts = nullptr;
    size_t bytes = 0;
    bool ok = !logError("pointer", cudaGraphicsResourceGetMappedPointer(
                                       reinterpret_cast<void**>(&verts), &bytes, c.vbo));

    // the level streamer may have swapped in a lower LOD
    if (ok && bytes < size_t(c.vertices) * sizeof(ClothVertex)) {
        ++c.skipped;
        return false;
    }

    if (ok) {
        const int substeps = dt > 1.f / 30 ? 4 : 1;
        for (int i = 0; i < substeps && ok; ++i) {
            integrate<<<(c.vertices + 127) / 128, 128, 0, stream>>>(verts, c.velocity, c.vertices,
                                                                   dt / substeps);
            ok = !logError("integrate", cudaGetLastError());
        }
    }

    if (logError("unmap", cudaGraphicsUnmapResources(1, &c.vbo, stream)))
        ok = false;
    if (!ok)
        ++c.skipped;
    return ok;
}
