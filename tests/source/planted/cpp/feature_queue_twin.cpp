#include <cuda_runtime.h>
#include <cstddef>
#include <new>

class FeatureQueue {
public:
    explicit FeatureQueue(std::size_t capacity) : capacity_(capacity)
    {
        if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess)
            throw std::bad_alloc();
        if (cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming) != cudaSuccess) {
            cudaStreamDestroy(stream_);
            throw std::bad_alloc();
        }
    }

    ~FeatureQueue()
    {
        cudaStreamSynchronize(stream_);
        cudaEventDestroy(ready_);
        cudaStreamDestroy(stream_);
    }

    FeatureQueue(const FeatureQueue&) = delete;
    FeatureQueue& operator=(const FeatureQueue&) = delete;

    cudaError_t push(float* device, const float* host, std::size_t count)
    {
        if (count > capacity_)
            return cudaErrorInvalidValue;
        cudaError_t err = cudaMemcpyAsync(device, host, count * sizeof(float), cudaMemcpyHostToDevice, stream_);
        if (err != cudaSuccess)
            return err;
        return cudaEventRecord(ready_, stream_);
    }

    cudaError_t wait(cudaStream_t consumer) { return cudaStreamWaitEvent(consumer, ready_, 0); }

private:
    std::size_t capacity_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t ready_ = nullptr;
};
