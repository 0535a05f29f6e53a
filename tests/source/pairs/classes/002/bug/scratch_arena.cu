#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
    abort(); } } while (0)

struct Image {
    unsigned char *dev;
    size_t pitch;
    int w, h;
};

__global__ void rowBlur(const unsigned char *src, size_t sp, float *dst, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= w || y >= h) return;
    int x0 = x > 0 ? x - 1 : x, x1 = x < w - 1 ? x + 1 : x;
    const unsigned char *r = src + y * sp;
    dst[y * w + x] = 0.25f * r[x0] + 0.5f * r[x] + 0.25f * r[x1];
}

__global__ void colBlur(const float *src, unsigned char *dst, size_t dp, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= w || y >= h) return;
    int y0 = y > 0 ? y - 1 : y, y1 = y < h - 1 ? y + 1 : y;
    float v = 0.25f * src[y0 * w + x] + 0.5f * src[y * w + x] + 0.25f * src[y1 * w + x];
    dst[y * dp + x] = (unsigned char)(v + 0.5f);
}

class ScratchArena {
public:
    ScratchArena() : mem_(0), cap_(0) {}
    ~ScratchArena() { release(); }

    void *ensure(size_t bytes)
    {
        if (bytes > cap_) {
            CK(cudaMalloc(&mem_, bytes));
            cap_ = bytes;
        }
        return mem_;
    }

    void release()
    {
        if (mem_) cudaFree(mem_);
        mem_ = 0;
        cap_ = 0;
    }

private:
    ScratchArena(const ScratchArena &);
    ScratchArena &operator=(const ScratchArena &);

    void *mem_;
    size_t cap_;
};

class BlurFilter {
public:
    void run(const Image &in, Image &out)
    {
        float *tmp = static_cast<float *>(
            arena_.ensure(sizeof(float) * (size_t)in.w * in.h));
        dim3 b(128), g((in.w + 127) / 128, in.h);
        rowBlur<<<g, b>>>(in.dev, in.pitch, tmp, in.w, in.h);
        CK(cudaGetLastError());
        colBlur<<<g, b>>>(tmp, out.dev, out.pitch, in.w, in.h);
        CK(cudaGetLastError());
    }

private:
    ScratchArena arena_;
};

void blurAll(BlurFilter &f, const Image *in, Image *out, int n)
{
    for (int i = 0; i < n; ++i)
        f.run(in[i], out[i]);
    CK(cudaDeviceSynchronize());
}
