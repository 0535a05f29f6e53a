#include <cuda_runtime.h>

#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

namespace pump {

inline void require(cudaError_t e, const char* m) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "pump: %s: %s\n", m, cudaGetErrorString(e));
    std::terminate();
}

// Copies results back on a stream and hands them to the subscriber in order.
class ResultPump {
public:
    using Sink = std::function<void(const float*, size_t)>;

    explicit ResultPump(Sink sink) : sink_(std::move(sink)) {
        require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    }

    ~ResultPump() {
        cudaStreamSynchronize(stream_);
        reap();
        cudaStreamDestroy(stream_);
    }

    ResultPump(const ResultPump&) = delete;
    ResultPump& operator=(const ResultPump&) = delete;

    // dev must stay valid until after drain().
    void publish(const float* dev, size_t n) {
        auto* p = new Packet{this, nullptr, n};
        require(cudaMallocHost(reinterpret_cast<void**>(&p->data), n * sizeof(float)), "packet");
        require(cudaMemcpyAsync(p->data, dev, n * sizeof(float), cudaMemcpyDeviceToHost, stream_),
                "copy");
        require(cudaLaunchHostFunc(stream_, &ResultPump::arrived, p), "host func");
        reap();
    }

    void drain() {
        require(cudaStreamSynchronize(stream_), "drain");
        reap();
    }

    cudaStream_t stream() const { return stream_; }

private:
    struct Packet {
        ResultPump* owner;
        float* data;
        size_t n;
    };

    static void CUDART_CB arrived(void* arg) {
        auto* p = static_cast<Packet*>(arg);
        p->owner->sink_(p->data, p->n);
        p->owner->retire(p);
    }

    void retire(Packet* p) {
        std::lock_guard<std::mutex> lk(mu_);
        done_.push_back(p);
    }

    void reap() {
        std::deque<Packet*> take;
        {
            std::lock_guard<std::mutex> lk(mu_);
            take.swap(done_);
        }
        for (Packet* p : take) {
            cudaFreeHost(p->data);
            delete p;
        }
    }

    Sink sink_;
    cudaStream_t stream_ = nullptr;
    std::mutex mu_;
    std::deque<Packet*> done_;
};

}  // namespace pump

int main() {
    double total = 0;
    float* dev = nullptr;
    pump::require(cudaMalloc(reinterpret_cast<void**>(&dev), 4096 * sizeof(float)), "dev");
    pump::require(cudaMemset(dev, 0, 4096 * sizeof(float)), "memset");
    pump::require(cudaDeviceSynchronize(), "sync");
    {
        pump::ResultPump p([&total](const float* v, size_t n) {
            for (size_t i = 0; i < n; ++i) total += v[i];
        });
        for (int i = 0; i < 100; ++i) p.publish(dev, 4096);
        p.drain();
    }
    std::printf("%f\n", total);
    cudaFree(dev);
    return 0;
}
