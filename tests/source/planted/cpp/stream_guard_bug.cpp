#include <cuda_runtime.h>
#include <stdexcept>
#include <utility>
#include <vector>

class OwnedStream {
public:
    explicit OwnedStream(int priority)
    {
        if (cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority) != cudaSuccess)
            throw std::runtime_error("no stream");
    }

    OwnedStream(const OwnedStream&) = delete;
    OwnedStream& operator=(const OwnedStream&) = delete;

    OwnedStream(OwnedStream&& other) noexcept : stream_(other.stream_) {}

    ~OwnedStream()
    {
        if (stream_)
            cudaStreamDestroy(stream_);
    }

    cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

std::vector<OwnedStream> make_streams(int count)
{
    int least = 0;
    int greatest = 0;
    if (cudaDeviceGetStreamPriorityRange(&least, &greatest) != cudaSuccess)
        throw std::runtime_error("no priorities");
    std::vector<OwnedStream> streams;
    for (int i = 0; i < count; ++i)
        streams.push_back(OwnedStream(i == 0 ? greatest : least));
    return streams;
}
