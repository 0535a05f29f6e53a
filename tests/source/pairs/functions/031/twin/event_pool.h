#pragma once
#include <cuda_runtime.h>
#include <vector>

// Recycled events. Fences order streams, marks take times.
class EventPool {
public:
    enum Kind { Fence, Mark };

    EventPool() {}
    ~EventPool() {
        for (int k = 0; k < 2; ++k)
            for (size_t i = 0; i < free_[k].size(); ++i) cudaEventDestroy(free_[k][i]);
    }
    EventPool(const EventPool&) = delete;
    EventPool& operator=(const EventPool&) = delete;

    cudaEvent_t take(Kind kind = Fence) {
        std::vector<cudaEvent_t>& f = free_[kind];
        cudaEvent_t e = nullptr;
        if (!f.empty()) {
            e = f.back();
            f.pop_back();
            return e;
        }
        unsigned flags = kind == Fence ? cudaEventDisableTiming : cudaEventDefault;
        return cudaEventCreateWithFlags(&e, flags) == cudaSuccess ? e : nullptr;
    }

    void give(cudaEvent_t e, Kind kind = Fence) {
        if (e) free_[kind].push_back(e);
    }

private:
    std::vector<cudaEvent_t> free_[2];
};
