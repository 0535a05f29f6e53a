#include <cuda_runtime.h>
#include <memory>
#include <stdexcept>
#include <vector>

class Queue {
public:
    Queue()
    {
        if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess)
            throw std::runtime_error("no queue");
    }
    ~Queue() { cudaStreamDestroy(stream_); }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    cudaStream_t stream() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

struct Track {
    float x, y, score;
};

void download(std::vector<Track>& host, const Track* device, bool dedicated)
{
    cudaStream_t stream = cudaStreamPerThread;
    std::unique_ptr<Queue> queue;
    if (dedicated) {
        queue = std::make_unique<Queue>();
        stream = queue->stream();
    }
    cudaError_t err =
        cudaMemcpyAsync(host.data(), device, host.size() * sizeof(Track), cudaMemcpyDeviceToHost, stream);
    if (err == cudaSuccess)
        err = cudaStreamSynchronize(stream);
    if (err != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(err));
}
