#pragma once
#include <cuda_runtime.h>

struct ClothVertex {
    float px, py, pz;
    float nx, ny, nz;
};

// The vertex buffer belongs to the renderer, which registered it with CUDA once.
struct Cloth {
    cudaGraphicsResource_t vbo;
    float3* velocity;   // device
    int vertices;
    int skipped;        // frames on which the simulation did not run
};

// Returns false if the cloth was left as it is this frame. The renderer draws from the
// buffer right after.
bool clothSimulate(Cloth& c, float dt, cudaStream_t stream);
