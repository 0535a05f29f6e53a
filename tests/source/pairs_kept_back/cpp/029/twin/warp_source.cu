#include "warp_source.h"

#include <cstdio>
#include <cstring>

cudaError_t WarpSource::bind() {
    cudaResourceDesc res;
    std::memset(&res, 0, sizeof res);
    res.resType = cudaResourceTypeArray;
    res.res.array.array = arr_;

    cudaTextureDesc td;
    std::memset(&td, 0, sizeof td);
    td.addressMode[0] = td.addressMode[1] = cudaAddressModeClamp;
    td.filterMode = cudaFilterModeLinear;
    td.readMode = cudaReadModeNormalizedFloat;
    return cudaCreateTextureObject(&tex_, &res, &td, nullptr);
}

void WarpSource::release() {
    if (tex_) cudaDestroyTextureObject(tex_);
    tex_ = 0;
    if (arr_) cudaFreeArray(arr_);
    arr_ = nullptr;
    w_ = h_ = 0;
}

// Blocks until the frame has arrived. A change of size happens when the camera switches mode.
cudaError_t WarpSource::load(const unsigned char* gray, int w, int h, cudaStream_t s) {
    cudaError_t e = cudaSuccess;
    if (w != w_ || h != h_) {
        if ((e = cudaStreamSynchronize(s)) != cudaSuccess) return e;
        release();
        cudaChannelFormatDesc fmt = cudaCreateChannelDesc<unsigned char>();
        if ((e = cudaMallocArray(&arr_, &fmt, w, h)) != cudaSuccess) return e;
        if ((e = bind()) != cudaSuccess) {
            release();
            return e;
        }
        w_ = w;
        h_ = h;
    }
    e = cudaMemcpy2DToArrayAsync(arr_, 0, 0, gray, w, w, h, cudaMemcpyHostToDevice, s);
    return e == cudaSuccess ? cudaStreamSynchronize(s) : e;
}

__global__ void shift(cudaTextureObject_t t, float* out, int w, int h, float dx, float dy) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[y * w + x] = tex2D<float>(t, x + 0.5f + dx, y + 0.5f + dy);
}

bool stabilise(WarpSource& src, float* out, float dx, float dy, cudaStream_t s) {
    dim3 b(32, 4), g((src.width() + 31) / 32, (src.height() + 3) / 4);
    shift<<<g, b, 0, s>>>(src.texture(), out, src.width(), src.height(), dx, dy);
    cudaError_t e = cudaGetLastError();
    if (e == cudaSuccess) e = cudaStreamSynchronize(s);
    if (e != cudaSuccess) std::fprintf(stderr, "stabilise: %s\n", cudaGetErrorString(e));
    return e == cudaSuccess;
}
