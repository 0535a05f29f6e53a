#include <cufft.h>
#include <cuda_runtime.h>

#include <list>
#include <stdexcept>
#include <unordered_map>

namespace sonar {

class PlanCache {
public:
    PlanCache(cudaStream_t stream, size_t capacity) : stream_(stream), capacity_(capacity) {}

    ~PlanCache()
    {
        cudaStreamSynchronize(stream_);
        for (auto& kv : plans_) cufftDestroy(kv.second.plan);
    }

    PlanCache(const PlanCache&) = delete;
    PlanCache& operator=(const PlanCache&) = delete;

    cufftHandle get(int nfft, int batch)
    {
        const Key key = (static_cast<Key>(nfft) << 32) | static_cast<unsigned>(batch);
        auto it = plans_.find(key);
        if (it != plans_.end()) {
            order_.splice(order_.begin(), order_, it->second.pos);
            return it->second.plan;
        }
        if (plans_.size() >= capacity_) evict();

        cufftHandle plan;
        if (cufftPlan1d(&plan, nfft, CUFFT_C2C, batch) != CUFFT_SUCCESS)
            throw std::runtime_error("cufftPlan1d");
        if (cufftSetStream(plan, stream_) != CUFFT_SUCCESS) {
            cufftDestroy(plan);
            throw std::runtime_error("cufftSetStream");
        }
        order_.push_front(key);
        plans_[key] = Entry{plan, order_.begin()};
        return plan;
    }

private:
    using Key = unsigned long long;
    struct Entry {
        cufftHandle plan;
        std::list<Key>::iterator pos;
    };

    void evict()
    {
        if (order_.empty()) return;
        // the victim may still be executing
        cudaStreamSynchronize(stream_);
        auto victim = plans_.find(order_.back());
        plans_.erase(victim);
        order_.pop_back();
    }

    cudaStream_t stream_;
    size_t capacity_;
    std::list<Key> order_;
    std::unordered_map<Key, Entry> plans_;
};

class Beamformer {
public:
    explicit Beamformer(cudaStream_t s) : cache_(s, 8) {}

    void toFrequency(cufftComplex* pings, int nfft, int hydrophones)
    {
        exec(pings, nfft, hydrophones, CUFFT_FORWARD);
    }
    void toTime(cufftComplex* pings, int nfft, int hydrophones)
    {
        exec(pings, nfft, hydrophones, CUFFT_INVERSE);
    }

private:
    void exec(cufftComplex* p, int nfft, int batch, int dir)
    {
        if (cufftExecC2C(cache_.get(nfft, batch), p, p, dir) != CUFFT_SUCCESS)
            throw std::runtime_error("cufftExecC2C");
    }

    PlanCache cache_;
};

} // namespace sonar
