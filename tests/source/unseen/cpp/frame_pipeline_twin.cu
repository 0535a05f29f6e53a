#include <cuda_runtime.h>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static void check(cudaError_t err, const char* what) {
    if (err != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(err));
}

__global__ void invert(unsigned char* px, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) px[i] = 255 - px[i];
}

class FrameLane {
public:
    FrameLane() { check(cudaStreamCreate(&lane_), "stream"); }
    FrameLane(const FrameLane&) = delete;
    FrameLane& operator=(const FrameLane&) = delete;

    void process(unsigned char* px, size_t n) {
        const unsigned blocks = static_cast<unsigned>((n + 255) / 256);
        invert<<<blocks, 256, 0, lane_>>>(px, n);
        check(cudaGetLastError(), "invert");
    }

    void close() {
        check(cudaStreamSynchronize(lane_), "drain");
        cudaError_t rc = cudaStreamDestroy(lane_);
        lane_ = nullptr;
        check(rc, "close");
    }

    ~FrameLane() {
        if (lane_ != nullptr && cudaStreamDestroy(lane_) != cudaSuccess)
            std::fprintf(stderr, "lane teardown failed\n");
    }

private:
    cudaStream_t lane_ = nullptr;
};

struct Pixels {
    unsigned char* ptr = nullptr;
    explicit Pixels(size_t n) { check(cudaMalloc(&ptr, n), "pixels"); }
    Pixels(const Pixels&) = delete;
    Pixels& operator=(const Pixels&) = delete;
    ~Pixels() { cudaFree(ptr); }
};

int main() {
    try {
        std::vector<unsigned char> frame(1920 * 1080, 17);
        Pixels px(frame.size());
        check(cudaMemcpy(px.ptr, frame.data(), frame.size(), cudaMemcpyHostToDevice), "upload");
        FrameLane lane;
        lane.process(px.ptr, frame.size());
        lane.close();
        check(cudaMemcpy(frame.data(), px.ptr, frame.size(), cudaMemcpyDeviceToHost), "download");
        std::printf("first pixel %d\n", frame[0]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
