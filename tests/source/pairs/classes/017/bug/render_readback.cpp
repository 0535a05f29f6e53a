#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace engine {

using PixelSink = std::function<void(const uint8_t* px, size_t bytes)>;

struct GpuError : std::runtime_error { using std::runtime_error::runtime_error; };

#define GPU(x) if (auto rc_ = (x)) throw GpuError(cudaGetErrorString(rc_))

class PinnedBlock {
public:
    explicit PinnedBlock(size_t n) : size(n) { GPU(cudaMallocHost(reinterpret_cast<void**>(&ptr), n)); }
    ~PinnedBlock() { cudaFreeHost(ptr); }
    PinnedBlock(const PinnedBlock&) = delete;
    PinnedBlock& operator=(const PinnedBlock&) = delete;
    uint8_t* ptr = nullptr;
    size_t size;
};

class Readback {
public:
    Readback(size_t frameBytes) : block_(frameBytes)
    {
        GPU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    ~Readback()
    {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    Readback(const Readback&) = delete;
    Readback& operator=(const Readback&) = delete;

    // renderDone orders us behind the renderer; sink is called from a
    // driver thread and must not touch the GPU.
    void capture(const void* d_frame, cudaEvent_t renderDone, PixelSink sink)
    {
        GPU(cudaStreamWaitEvent(stream_, renderDone, 0));
        GPU(cudaMemcpyAsync(block_.ptr, d_frame, block_.size, cudaMemcpyDeviceToHost, stream_));
        Job job{std::move(sink), block_.ptr, block_.size};
        GPU(cudaLaunchHostFunc(stream_, &Readback::deliver, &job));
    }

    void wait() { GPU(cudaStreamSynchronize(stream_)); }

private:
    struct Job {
        PixelSink sink;
        const uint8_t* px;
        size_t bytes;
    };

    static void CUDART_CB deliver(void* p)
    {
        Job* job = static_cast<Job*>(p);
        job->sink(job->px, job->bytes);
    }

    PinnedBlock block_;
    cudaStream_t stream_ = nullptr;
};

class ThumbnailCache {
public:
    explicit ThumbnailCache(size_t bytes) : rb_(bytes) {}

    void grab(const void* d_frame, cudaEvent_t done)
    {
        rb_.wait();
        rb_.capture(d_frame, done, [this](const uint8_t* px, size_t n) { last_.assign(px, px + n); });
    }

    const std::vector<uint8_t>& latest()
    {
        rb_.wait();
        return last_;
    }

private:
    std::vector<uint8_t> last_;
    Readback rb_;
};

} // namespace engine
