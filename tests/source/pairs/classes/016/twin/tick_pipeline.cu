#include "tick_pipeline.h"
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#define MD_CUDA(call)                                                       \
    do {                                                                    \
        cudaError_t r = (call);                                             \
        if (r != cudaSuccess) {                                             \
            std::fprintf(stderr, "md: %s: %s\n", #call, cudaGetErrorString(r)); \
            std::abort();                                                   \
        }                                                                   \
    } while (0)

namespace md {

__global__ void vwapKernel(const double* px, int n, double* out)
{
    double s = 0;
    for (int i = 0; i < n; ++i) s += px[i];
    *out = s / n;
}

TickPipeline::TickPipeline(int batches, int ticks) : batches_(batches), done_(batches), cap_(ticks)
{
    MD_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (int i = 0; i < batches; ++i) {
        MD_CUDA(cudaMalloc(&batches_[i].d_px, ticks * sizeof(double)));
        MD_CUDA(cudaHostAlloc(&batches_[i].h_vwap, sizeof(double), cudaHostAllocMapped));
        done_[i] = Done{this, i};
        idle_.push_back(i);
    }
}

TickPipeline::~TickPipeline()
{
    cudaStreamSynchronize(stream_);
    for (Batch& b : batches_) {
        cudaFree(b.d_px);
        cudaFreeHost(b.h_vwap);
    }
    cudaStreamDestroy(stream_);
}

int TickPipeline::acquire()
{
    std::unique_lock<std::mutex> l(m_);
    cv_.wait(l, [this] { return !idle_.empty(); });
    int i = idle_.back();
    idle_.pop_back();
    return i;
}

void CUDART_CB TickPipeline::onDone(void* arg)
{
    Done* d = static_cast<Done*>(arg);
    TickPipeline* self = d->self;
    Batch& b = self->batches_[d->idx];
    double v = *b.h_vwap;
    {
        std::lock_guard<std::mutex> l(self->m_);
        self->results_.push_back(v);
        self->idle_.push_back(d->idx);
    }
    self->cv_.notify_one();
}

void TickPipeline::submit(const double* ticks, int n)
{
    if (n <= 0 || n > cap_) throw std::invalid_argument("tick count");
    const int i = acquire();
    Batch& b = batches_[i];
    b.n = n;
    double* d_vwap = nullptr;
    MD_CUDA(cudaHostGetDevicePointer(&d_vwap, b.h_vwap, 0));
    MD_CUDA(cudaMemcpyAsync(b.d_px, ticks, n * sizeof(double), cudaMemcpyHostToDevice, stream_));
    vwapKernel<<<1, 1, 0, stream_>>>(b.d_px, n, d_vwap);
    MD_CUDA(cudaGetLastError());
    MD_CUDA(cudaLaunchHostFunc(stream_, &TickPipeline::onDone, &done_[i]));
}

void TickPipeline::drain(std::vector<double>& vwaps)
{
    MD_CUDA(cudaStreamSynchronize(stream_));
    std::lock_guard<std::mutex> l(m_);
    vwaps.swap(results_);
    results_.clear();
}

} // namespace md
