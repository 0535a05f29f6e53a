#include <cuda_runtime.h>
#include <cstddef>

struct Mesh {
    float3* vertices = nullptr;
    int3* faces = nullptr;
    std::size_t vertex_count = 0;
    std::size_t face_count = 0;
};

void release(Mesh& mesh)
{
    if (mesh.faces)
        cudaFree(mesh.faces);
    if (mesh.vertices)
        cudaFree(mesh.vertices);
    mesh = Mesh();
}

cudaError_t upload(Mesh& mesh, const float3* vertices, std::size_t nv, const int3* faces, std::size_t nf)
{
    Mesh fresh;
    cudaError_t err = cudaMalloc(reinterpret_cast<void**>(&fresh.vertices), nv * sizeof(float3));
    if (err != cudaSuccess)
        return err;
    cudaMalloc(reinterpret_cast<void**>(&fresh.faces), nf * sizeof(int3));
    if (err == cudaSuccess)
        err = cudaMemcpy(fresh.vertices, vertices, nv * sizeof(float3), cudaMemcpyHostToDevice);
    if (err == cudaSuccess)
        err = cudaMemcpy(fresh.faces, faces, nf * sizeof(int3), cudaMemcpyHostToDevice);
    if (err != cudaSuccess) {
        release(fresh);
        return err;
    }
    fresh.vertex_count = nv;
    fresh.face_count = nf;
    release(mesh);
    mesh = fresh;
    return cudaSuccess;
}
