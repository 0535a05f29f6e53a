#include <cuda_runtime.h>
#include <string.h>

namespace cap {

static const int kSlots = 3;

struct Slot {
    unsigned char* host;
    cudaEvent_t    copied;
};

class FrameUploader {
public:
    FrameUploader() : stream_(0), next_(0), frameBytes_(0) { memset(slots_, 0, sizeof(slots_)); }
    ~FrameUploader() { close(); }

    bool open(size_t frameBytes)
    {
        close();
        frameBytes_ = frameBytes;
        if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess) {
            stream_ = 0;
            return false;
        }
        for (int i = 0; i < kSlots; ++i) {
            if (cudaHostAlloc((void**)&slots_[i].host, frameBytes, cudaHostAllocWriteCombined) != cudaSuccess) {
                slots_[i].host = 0;
                close();
                return false;
            }
            if (cudaEventCreateWithFlags(&slots_[i].copied, cudaEventDisableTiming | cudaEventBlockingSync) != cudaSuccess) {
                slots_[i].copied = 0;
                close();
                return false;
            }
        }
        return true;
    }

    void close()
    {
        if (stream_) cudaStreamSynchronize(stream_);
        for (int i = 0; i < kSlots; ++i) {
            if (slots_[i].copied) cudaEventDestroy(slots_[i].copied);
            if (slots_[i].host) cudaFreeHost(slots_[i].host);
            slots_[i].copied = 0;
            slots_[i].host = 0;
        }
        if (stream_) cudaStreamDestroy(stream_);
        stream_ = 0;
        next_ = 0;
    }

    // devDst must be a surface that nobody reads until flush() or a later
    // event on stream(). The caller may reuse 'frame' right away.
    bool push(const void* frame, void* devDst)
    {
        Slot& s = slots_[next_];
        if (cudaEventSynchronize(s.copied) != cudaSuccess) return false;
        memcpy(s.host, frame, frameBytes_);
        if (cudaMemcpyAsync(devDst, s.host, frameBytes_, cudaMemcpyHostToDevice, stream_) != cudaSuccess)
            return false;
        if (cudaEventRecord(s.copied, stream_) != cudaSuccess) {
            cudaStreamSynchronize(stream_);
            return false;
        }
        next_ = (next_ + 1) % kSlots;
        return true;
    }

    bool flush() { return cudaStreamSynchronize(stream_) == cudaSuccess; }
    cudaStream_t stream() const { return stream_; }

private:
    FrameUploader(const FrameUploader&);
    FrameUploader& operator=(const FrameUploader&);

    Slot slots_[kSlots];
    cudaStream_t stream_;
    int next_;
    size_t frameBytes_;
};

} // namespace cap
