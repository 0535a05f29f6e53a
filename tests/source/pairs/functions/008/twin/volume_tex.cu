#include "volume_tex.h"
#include <cstring>

cudaError_t volume_tex_create(VolumeTex* vt, const float* host, int nx, int ny, int nz) {
    cudaArray_t arr = nullptr;
    cudaTextureObject_t tex = 0;
    cudaChannelFormatDesc fmt = cudaCreateChannelDesc<float>();
    cudaExtent ext = make_cudaExtent(nx, ny, nz);
    cudaMemcpy3DParms cp;
    cudaResourceDesc res;
    cudaTextureDesc td;

    memset(vt, 0, sizeof *vt);
    memset(&cp, 0, sizeof cp);
    memset(&res, 0, sizeof res);
    memset(&td, 0, sizeof td);

    cudaError_t rc = cudaMalloc3DArray(&arr, &fmt, ext, 0);
    if (rc != cudaSuccess) goto done;

    cp.srcPtr = make_cudaPitchedPtr(const_cast<float*>(host), nx * sizeof(float), nx, ny);
    cp.dstArray = arr;
    cp.extent = ext;
    cp.kind = cudaMemcpyHostToDevice;
    rc = cudaMemcpy3D(&cp);
    if (rc != cudaSuccess) goto done;

    res.resType = cudaResourceTypeArray;
    res.res.array.array = arr;
    td.addressMode[0] = td.addressMode[1] = td.addressMode[2] = cudaAddressModeClamp;
    td.filterMode = cudaFilterModeLinear;
    td.readMode = cudaReadModeElementType;
    td.normalizedCoords = 1;
    rc = cudaCreateTextureObject(&tex, &res, &td, nullptr);
    if (rc != cudaSuccess) goto done;

    vt->voxels = arr;
    vt->tex = tex;
    vt->nx = nx;
    vt->ny = ny;
    vt->nz = nz;

done:
    if (rc != cudaSuccess && arr) cudaFreeArray(arr);
    return rc;
}

void volume_tex_destroy(VolumeTex* vt) {
    if (vt->tex) cudaDestroyTextureObject(vt->tex);
    if (vt->voxels) cudaFreeArray(vt->voxels);
    vt->tex = 0;
    vt->voxels = nullptr;
}

__global__ void mip(cudaTextureObject_t tex, float* img, int w, int h, int steps, float c,
                    float s) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float u = (x + .5f) / w - .5f, v = (y + .5f) / h, best = 0.f;
    for (int k = 0; k < steps; ++k) {
        float t = (k + .5f) / steps - .5f;
        best = fmaxf(best, tex3D<float>(tex, .5f + c * u - s * t, v, .5f + s * u + c * t));
    }
    img[y * w + x] = best;
}

cudaError_t volume_mip(const VolumeTex& vt, float* d_image, int w, int h, float angle,
                       cudaStream_t s) {
    dim3 b(16, 16), g((w + 15) / 16, (h + 15) / 16);
    mip<<<g, b, 0, s>>>(vt.tex, d_image, w, h, vt.nz * 2, cosf(angle), sinf(angle));
    return cudaGetLastError();
}
