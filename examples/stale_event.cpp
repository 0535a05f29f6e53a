// A pipeline borrows a stream from a pool. When the queue runs empty, the pool's housekeeping thread destroys the
// streams above its low-water mark; it does not ask whether someone still holds one. Flushing the pipeline then
// records an event on a stream that is gone.
//
// The few driver functions are declared here, so that this compiles without the CUDA toolkit.

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" {
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuEventDestroy cuEventDestroy_v2
CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes);
CUresult cuMemFree(CUdeviceptr address);
CUresult cuMemcpyHtoDAsync(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream);
CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventDestroy(CUevent event);
}

static void check(CUresult status) {
    if (status != 0) {
        std::fprintf(stderr, "stale_event: a CUDA call returned %d\n", status);
        std::exit(1);
    }
}

class StreamPool {
  public:
    explicit StreamPool(size_t size) : streams_(size) {
        for (CUstream& stream : streams_) check(cuStreamCreate(&stream, 1));
    }

    ~StreamPool() { shrink(0); }

    CUstream borrow() { return streams_[next_++ % streams_.size()]; }

    void shrink(size_t keep) {
        for (; streams_.size() > keep; streams_.pop_back()) {
            check(cuStreamDestroy(streams_.back()));
        }
    }

  private:
    std::vector<CUstream> streams_;
    size_t next_ = 0;
};

class Pipeline {
  public:
    Pipeline(CUstream stream, size_t bytes) : stream_(stream), bytes_(bytes) {
        check(cuMemAlloc(&tile_, bytes));
        check(cuEventCreate(&flushed_, 0));
    }

    ~Pipeline() {
        check(cuEventDestroy(flushed_));
        check(cuMemFree(tile_));
    }

    void upload(const std::vector<char>& frame) {
        check(cuMemcpyHtoDAsync(tile_, frame.data(), bytes_, stream_));
        check(cuStreamSynchronize(stream_));
    }

    void flush() {
        check(cuEventRecord(flushed_, stream_));
        check(cuEventSynchronize(flushed_));
    }

  private:
    CUstream stream_;
    size_t bytes_;
    CUdeviceptr tile_ = 0;
    CUevent flushed_ = nullptr;
};

int main() {
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));

    const std::vector<char> frame(1 << 16);
    StreamPool pool(4);
    Pipeline preview(pool.borrow(), frame.size());
    Pipeline archive(pool.borrow(), frame.size());
    for (int i = 0; i < 8; ++i) {
        preview.upload(frame);
        archive.upload(frame);
    }

    std::thread housekeeping([&] {
        check(cuCtxSetCurrent(context));
        pool.shrink(1);
    });
    housekeeping.join();

    preview.flush();
    archive.flush();
    std::puts("stale_event: all frames stored");
}
