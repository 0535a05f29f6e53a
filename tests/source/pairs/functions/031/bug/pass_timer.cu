#include "event_pool.h"
#include <cstdio>
#include <map>
#include <string>

// GPU times of render passes, shown in the debug overlay.
class PassTimer {
public:
    PassTimer(EventPool& pool, cudaStream_t s) : pool_(pool), stream_(s) {}
    ~PassTimer() {
        for (auto& kv : open_) recycle(kv.second);
    }
    PassTimer(const PassTimer&) = delete;
    PassTimer& operator=(const PassTimer&) = delete;

    void begin(const std::string& pass) {
        Span& sp = open_[pass];
        recycle(sp);
        sp.a = pool_.take();
        if (sp.a) cudaEventRecord(sp.a, stream_);
    }

    void end(const std::string& pass) {
        auto it = open_.find(pass);
        if (it == open_.end() || !it->second.a || it->second.b) return;
        it->second.b = pool_.take();
        if (it->second.b) cudaEventRecord(it->second.b, stream_);
    }

    void report() {
        for (auto& kv : open_) {
            Span& sp = kv.second;
            float ms = 0.f;
            if (sp.a && sp.b && cudaEventSynchronize(sp.b) == cudaSuccess)
                cudaEventElapsedTime(&ms, sp.a, sp.b);
            std::printf("%-16s %8.3f ms\n", kv.first.c_str(), ms);
            recycle(sp);
        }
        open_.clear();
    }

private:
    struct Span {
        cudaEvent_t a = nullptr, b = nullptr;
    };

    void recycle(Span& sp) {
        pool_.give(sp.a);
        pool_.give(sp.b);
        sp = Span();
    }

    EventPool& pool_;
    cudaStream_t stream_;
    std::map<std::string, Span> open_;
};

__global__ void shade(float4* px, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) px[i].x = sqrtf(px[i].x * px[i].y + 0.1f);
}

bool renderFrames(float4* px, int n, int frames, cudaStream_t gfx, cudaStream_t present) {
    EventPool pool;
    PassTimer timer(pool, gfx);
    bool ok = true;
    for (int f = 0; f < frames && ok; ++f) {
        timer.begin("shade");
        shade<<<(n + 255) / 256, 256, 0, gfx>>>(px, n);
        ok = cudaGetLastError() == cudaSuccess;
        timer.end("shade");

        cudaEvent_t ready = pool.take();
        ok = ok && ready && cudaEventRecord(ready, gfx) == cudaSuccess &&
             cudaStreamWaitEvent(present, ready, 0) == cudaSuccess;
        pool.give(ready);
        if (f % 60 == 59) timer.report();
    }
    return cudaStreamSynchronize(gfx) == cudaSuccess && ok;
}
