#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t status_ = (call);                                                   \
        if (status_ != cudaSuccess) {                                                   \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                    \
        }                                                                               \
    } while (0)

__global__ void yuv_to_rgb(const unsigned char* in, uchar4* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        unsigned char l = in[y * width + x];
        out[y * width + x] = make_uchar4(l, l, l, 255);
    }
}

void convert_frames(const unsigned char* pinned, uchar4* rgb, int width, int height, int frames, bool keep_last)
{
    unsigned char* d_in = nullptr;
    cudaStream_t upload = nullptr;
    size_t bytes = static_cast<size_t>(width) * height;
    CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&d_in, bytes));
    dim3 block(32, 8);
    dim3 grid((width + 31) / 32, (height + 7) / 8);
    for (int f = 0; f < frames; ++f) {
        CHECK(cudaMemcpyAsync(d_in, pinned + f * bytes, bytes, cudaMemcpyHostToDevice, upload));
        yuv_to_rgb<<<grid, block, 0, upload>>>(d_in, rgb + f * bytes, width, height);
        CHECK(cudaGetLastError());
    }
    if (!keep_last) {
        CHECK(cudaStreamDestroy(upload));
        CHECK(cudaFree(d_in));
        CHECK(cudaStreamSynchronize(upload));
        return;
    }
    CHECK(cudaStreamSynchronize(upload));
    CHECK(cudaMemcpy(rgb, d_in, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaFree(d_in));
    CHECK(cudaStreamDestroy(upload));
}
