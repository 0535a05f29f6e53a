#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

// Day of ticks in host memory, page-locked so that the replay can stream from it.

namespace ticks {

struct Tick {
    int64_t ns;
    int32_t price;
    int32_t qty;
};

class Store {
public:
    Store() = default;
    ~Store() { unpin(); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    bool append(const Tick* t, size_t n) {
        if (used_ + n > rows_.size()) {
            size_t want = std::max(used_ + n, rows_.size() * 2);
            unpin();
            rows_.resize(want);
            if (!pin()) return false;
        }
        std::copy(t, t + n, rows_.begin() + used_);
        used_ += n;
        return true;
    }

    const Tick* data() const { return rows_.data(); }
    size_t size() const { return used_; }
    bool pinned() const { return pinned_; }

private:
    bool pin() {
        cudaError_t e = cudaHostRegister(rows_.data(), rows_.size() * sizeof(Tick),
                                         cudaHostRegisterDefault);
        if (e != cudaSuccess) {
            std::fprintf(stderr, "ticks: cannot pin %zu rows: %s\n", rows_.size(),
                         cudaGetErrorString(e));
            return false;
        }
        pinned_ = true;
        return true;
    }

    void unpin() {
        if (pinned_) cudaHostUnregister(rows_.data());
        pinned_ = false;
    }

    std::vector<Tick> rows_;
    size_t used_ = 0;
    bool pinned_ = false;
};

// Copies the store to the device in slices, all in flight at once.
cudaError_t upload(const Store& s, Tick* dev, size_t slice, cudaStream_t stream) {
    for (size_t at = 0; at < s.size(); at += slice) {
        size_t n = std::min(slice, s.size() - at);
        cudaError_t e = cudaMemcpyAsync(dev + at, s.data() + at, n * sizeof(Tick),
                                        cudaMemcpyHostToDevice, stream);
        if (e != cudaSuccess) {
            cudaStreamSynchronize(stream);
            return e;
        }
    }
    return cudaStreamSynchronize(stream);
}

}  // namespace ticks

int main() {
    ticks::Store store;
    std::vector<ticks::Tick> batch(4096);
    size_t n;
    while ((n = std::fread(batch.data(), sizeof(ticks::Tick), batch.size(), stdin)) > 0)
        if (!store.append(batch.data(), n)) return 1;
    if (store.size() == 0) return 0;

    ticks::Tick* dev = nullptr;
    cudaStream_t stream = nullptr;
    int rc = 1;
    if (cudaMalloc(reinterpret_cast<void**>(&dev), store.size() * sizeof(ticks::Tick)) ==
            cudaSuccess &&
        cudaStreamCreate(&stream) == cudaSuccess &&
        ticks::upload(store, dev, 1 << 16, stream) == cudaSuccess)
        rc = 0;
    std::printf("%zu ticks, rc %d\n", store.size(), rc);
    if (stream) cudaStreamDestroy(stream);
    cudaFree(dev);
    return rc;
}
