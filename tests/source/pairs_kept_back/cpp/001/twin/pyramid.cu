#include "gpu_image.hpp"

#include <cstdio>
#include <vector>

namespace pix {

__global__ void halve_kernel(const float* in, size_t in_pitch, float* out, size_t out_pitch,
                             int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    const float* r0 = (const float*)((const char*)in + (2 * y) * in_pitch);
    const float* r1 = (const float*)((const char*)in + (2 * y + 1) * in_pitch);
    float* o = (float*)((char*)out + y * out_pitch);
    o[x] = 0.25f * (r0[2 * x] + r0[2 * x + 1] + r1[2 * x] + r1[2 * x + 1]);
}

GpuImage halve(const GpuImage& in) {
    GpuImage out(in.width() / 2, in.height() / 2);
    dim3 b(32, 8);
    dim3 g((out.width() + b.x - 1) / b.x, (out.height() + b.y - 1) / b.y);
    halve_kernel<<<g, b>>>(in.data(), in.pitch(), out.data(), out.pitch(), out.width(),
                           out.height());
    ok(cudaGetLastError(), "halve");
    return out;
}

}  // namespace pix

int main() try {
    const int w = 4096, h = 2048;
    std::vector<float> host(size_t(w) * h, 0.5f);

    for (int frame = 0; frame < 1000; ++frame) {
        pix::GpuImage level(w, h);
        level.upload(host.data());
        while (level.width() > 64 && level.height() > 64)
            level = pix::halve(level);

        std::vector<float> small(size_t(level.width()) * level.height());
        level.download(small.data());
        if (frame % 100 == 0) std::printf("%d: %f\n", frame, small[0]);
    }
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
