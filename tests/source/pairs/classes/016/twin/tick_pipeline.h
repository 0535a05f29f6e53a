#pragma once
#include <cuda_runtime.h>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace md {

struct Batch {
    double* d_px = nullptr;
    double* h_vwap = nullptr;
    int n = 0;
};

class TickPipeline {
public:
    TickPipeline(int batches, int ticks);
    ~TickPipeline();
    TickPipeline(const TickPipeline&) = delete;
    TickPipeline& operator=(const TickPipeline&) = delete;

    // ticks must be page-locked and untouched until drain()
    void submit(const double* ticks, int n);
    void drain(std::vector<double>& vwaps);

private:
    struct Done { TickPipeline* self; int idx; };
    static void CUDART_CB onDone(void* arg);
    int acquire();

    std::vector<Batch> batches_;
    std::vector<Done> done_;
    std::vector<int> idle_;
    std::vector<double> results_;
    std::mutex m_;
    std::condition_variable cv_;
    cudaStream_t stream_ = nullptr;
    int cap_ = 0;
};

} // namespace md
