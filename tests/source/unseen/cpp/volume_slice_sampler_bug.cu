#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_OK(call) ensure((call), #call, __LINE__)

static inline void ensure(cudaError_t st, const char* text, int line) {
    if (st == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s -> %s\n", line, text, cudaGetErrorName(st));
    std::abort();
}

__global__ void sample(cudaTextureObject_t tex, float* out, int w, int h, float angle) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float u = x * cosf(angle) - y * sinf(angle);
    float v = x * sinf(angle) + y * cosf(angle);
    out[y * w + x] = tex2D<float>(tex, u + 0.5f, v + 0.5f);
}

int main() {
    const int w = 512, h = 384;
    std::vector<float> slice(w * h);
    for (int i = 0; i < w * h; ++i) slice[i] = std::sin(i * 0.01f);

    cudaChannelFormatDesc fmt = cudaCreateChannelDesc<float>();
    cudaArray_t voxels = nullptr;
    CUDA_OK(cudaMallocArray(&voxels, &fmt, w, h));
    CUDA_OK(cudaMemcpy2DToArray(voxels, 0, 0, slice.data(), w * sizeof(float),
                                w * sizeof(float), h, cudaMemcpyHostToDevice));

    cudaResourceDesc res = {};
    res.resType = cudaResourceTypeArray;
    res.res.array.array = voxels;
    cudaTextureDesc td = {};
    td.addressMode[0] = td.addressMode[1] = cudaAddressModeClamp;
    td.filterMode = cudaFilterModeLinear;
    td.readMode = cudaReadModeElementType;
    cudaTextureObject_t tex = 0;
    CUDA_OK(cudaCreateTextureObject(&tex, &res, &td, nullptr));

    float* rotated = nullptr;
    CUDA_OK(cudaMalloc(&rotated, w * h * sizeof(float)));
    dim3 block(16, 16), grid((w + 15) / 16, (h + 15) / 16);
    sample<<<grid, block>>>(tex, rotated, w, h, 0.3f);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaMemcpy(slice.data(), rotated, w * h * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("centre %.4f\n", slice[(h / 2) * w + w / 2]);

    CUDA_OK(cudaDestroyTextureObject(tex));
    CUDA_OK(cudaFree(rotated));
    CUDA_OK(cudaFree(voxels));
    return 0;
}
