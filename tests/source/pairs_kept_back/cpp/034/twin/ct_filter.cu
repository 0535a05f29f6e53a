#include <cuda_runtime.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

// 3x3 median-ish smoothing of CT slices (int16, Hounsfield units).

__global__ void smooth3(const int16_t* src, size_t spitch, int16_t* dst, size_t dpitch, int w, int h) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int acc = 0, cnt = 0;
    for (int j = max(y - 1, 0); j <= min(y + 1, h - 1); ++j) {
        const int16_t* row = (const int16_t*)((const char*)src + j * spitch);
        for (int i = max(x - 1, 0); i <= min(x + 1, w - 1); ++i, ++cnt) acc += row[i];
    }
    ((int16_t*)((char*)dst + y * dpitch))[x] = int16_t(acc / cnt);
}

struct Plane {
    int16_t* p;
    size_t pitch;
};

static bool report(cudaError_t e, const char* step) {
    if (e != cudaSuccess) std::fprintf(stderr, "ct: %s: %s\n", step, cudaGetErrorString(e));
    return e == cudaSuccess;
}

static bool alloc_plane(Plane& pl, int w, int h) {
    void* v = nullptr;
    if (!report(cudaMallocPitch(&v, &pl.pitch, w * sizeof(int16_t), h), "plane")) return false;
    pl.p = static_cast<int16_t*>(v);
    return true;
}

static void free_plane(Plane& pl) {
    cudaFree(pl.p);
    pl.p = nullptr;
}

bool smooth_volume(std::vector<int16_t>& vol, int w, int h, int slices) {
    assert(vol.size() == size_t(w) * h * slices);
    Plane a{}, b{};
    bool ok = alloc_plane(a, w, h) && alloc_plane(b, w, h);
    const size_t line = w * sizeof(int16_t);
    dim3 blk(32, 8), grd((w + 31) / 32, (h + 7) / 8);

    for (int z = 0; ok && z < slices; ++z) {
        int16_t* slice = vol.data() + size_t(z) * w * h;
        ok = report(cudaMemcpy2D(a.p, a.pitch, slice, line, line, h, cudaMemcpyHostToDevice), "upload");
        if (!ok) break;
        smooth3<<<grd, blk>>>(a.p, a.pitch, b.p, b.pitch, w, h);
        ok = report(cudaGetLastError(), "smooth3") &&
             report(cudaMemcpy2D(slice, line, b.p, b.pitch, line, h, cudaMemcpyDeviceToHost), "download");
    }
    free_plane(b);
    free_plane(a);
    return ok;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const int w = 500, h = 500;
    std::vector<int16_t> vol;
    FILE* f = std::fopen(argv[1], "rb");
    if (!f) return 2;
    std::vector<int16_t> one(size_t(w) * h);
    int slices = 0;
    while (std::fread(one.data(), sizeof(int16_t), one.size(), f) == one.size()) {
        vol.insert(vol.end(), one.begin(), one.end());
        ++slices;
    }
    std::fclose(f);
    if (!smooth_volume(vol, w, h, slices)) return 1;
    long long sum = 0;
    for (int16_t v : vol) sum += v;
    std::printf("%d slices, mean %.2f HU\n", slices, vol.empty() ? 0.0 : double(sum) / vol.size());
    return 0;
}
