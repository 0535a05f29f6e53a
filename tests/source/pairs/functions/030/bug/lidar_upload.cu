#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

// Lidar sweeps arrive as UDP sized packets; they are gathered in page-locked blocks and
// voxelised on the fly.

namespace lidar {

struct Point { float x, y, z, i; };

constexpr size_t kBlock = 1 << 15;
constexpr int kSlots = 3;
constexpr int kVox = 256;

#define LIDAR_DO(x)                                                                     \
    if (cudaError_t err__ = (x); err__ != cudaSuccess) {                                \
        std::fprintf(stderr, "lidar: %s failed: %s\n", #x, cudaGetErrorString(err__));  \
        std::abort();                                                                   \
    }

__global__ void voxelise(const Point* p, size_t n, unsigned* grid) {
    size_t k = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (k >= n) return;
    int x = int(p[k].x) + kVox / 2, y = int(p[k].y) + kVox / 2, z = int(p[k].z) + kVox / 2;
    if (x < 0 || y < 0 || z < 0 || x >= kVox || y >= kVox || z >= kVox) return;
    atomicAdd(&grid[(size_t(z) * kVox + y) * kVox + x], 1u);
}

class Voxeliser {
    struct Slot {
        Point* host = nullptr;
        Point* dev = nullptr;
        cudaEvent_t done = nullptr;
    };

public:
    Voxeliser() {
        LIDAR_DO(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (Slot& s : slots_) {
            LIDAR_DO(cudaHostAlloc(&s.host, kBlock * sizeof(Point), cudaHostAllocDefault));
            LIDAR_DO(cudaMalloc(&s.dev, kBlock * sizeof(Point)));
            LIDAR_DO(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming));
        }
        LIDAR_DO(cudaMalloc(&grid_, gridBytes()));
        LIDAR_DO(cudaMemsetAsync(grid_, 0, gridBytes(), stream_));
    }

    ~Voxeliser() {
        LIDAR_DO(cudaStreamSynchronize(stream_));
        for (Slot& s : slots_) {
            LIDAR_DO(cudaEventDestroy(s.done));
            LIDAR_DO(cudaFree(s.dev));
            LIDAR_DO(cudaFreeHost(s.host));
        }
        LIDAR_DO(cudaFree(grid_));
        LIDAR_DO(cudaStreamDestroy(stream_));
    }

    Voxeliser(const Voxeliser&) = delete;
    Voxeliser& operator=(const Voxeliser&) = delete;

    void packet(std::span<const Point> pts) {
        while (!pts.empty()) {
            size_t n = std::min(pts.size(), kBlock - fill_);
            std::memcpy(slots_[cur_].host + fill_, pts.data(), n * sizeof(Point));
            fill_ += n;
            pts = pts.subspan(n);
            if (fill_ == kBlock) flush();
        }
    }

    void sweep(unsigned* out) {
        flush();
        LIDAR_DO(cudaMemcpyAsync(out, grid_, gridBytes(), cudaMemcpyDeviceToHost, stream_));
        LIDAR_DO(cudaMemsetAsync(grid_, 0, gridBytes(), stream_));
        LIDAR_DO(cudaStreamSynchronize(stream_));
    }

    static constexpr size_t gridBytes() { return sizeof(unsigned) * kVox * kVox * kVox; }

private:
    void flush() {
        if (fill_ == 0) return;
        Slot& s = slots_[cur_];
        LIDAR_DO(cudaMemcpyAsync(s.dev, s.host, fill_ * sizeof(Point), cudaMemcpyHostToDevice,
                                 stream_));
        voxelise<<<unsigned((fill_ + 255) / 256), 256, 0, stream_>>>(s.dev, fill_, grid_);
        LIDAR_DO(cudaGetLastError());
        LIDAR_DO(cudaEventRecord(s.done, stream_));
        cur_ = (cur_ + 1) % kSlots;
        fill_ = 0;
    }

    std::array<Slot, kSlots> slots_{};
    cudaStream_t stream_ = nullptr;
    unsigned* grid_ = nullptr;
    int cur_ = 0;
    size_t fill_ = 0;
};

}  // namespace lidar
