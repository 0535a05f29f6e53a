#pragma once
#include <cuda_runtime.h>

struct VolumeTex {
    cudaArray_t voxels;
    cudaTextureObject_t tex;
    int nx, ny, nz;
};

// Uploads a float volume and makes it sampleable with trilinear filtering.
cudaError_t volume_tex_create(VolumeTex* vt, const float* host, int nx, int ny, int nz);
void volume_tex_destroy(VolumeTex* vt);

cudaError_t volume_mip(const VolumeTex& vt, float* d_image, int w, int h, float angle,
                       cudaStream_t s);
