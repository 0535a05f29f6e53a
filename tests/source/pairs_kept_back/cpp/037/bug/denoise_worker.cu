#include <cuda_runtime.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using Frame = std::vector<float>;

#define CUDA_OK(x)                                                      \
    do {                                                                \
        if (auto rc = (x); rc != cudaSuccess) {                         \
            std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorName(rc)); \
            std::abort();                                               \
        }                                                               \
    } while (0)

__global__ void denoise(float* px, int n, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) px[i] = px[i] < k ? 0.f : px[i] - k;
}

// One worker and one device buffer for each GPU of the render node.
class DenoiseWorker {
public:
    DenoiseWorker(int gpu, int pixels) : gpu_(gpu), pixels_(pixels) {
        CUDA_OK(cudaSetDevice(gpu_));
        CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CUDA_OK(cudaMalloc(&buf_, pixels_ * sizeof(float)));
        thread_ = std::thread(&DenoiseWorker::loop, this);
    }

    ~DenoiseWorker() {
        {
            std::lock_guard lk(mu_);
            quit_ = true;
        }
        cv_.notify_one();
        thread_.join();
        cudaSetDevice(gpu_);
        cudaFree(buf_);
        cudaStreamDestroy(stream_);
    }

    DenoiseWorker(const DenoiseWorker&) = delete;
    DenoiseWorker& operator=(const DenoiseWorker&) = delete;

    std::future<Frame> submit(Frame f) {
        Job j{std::move(f), {}};
        auto fut = j.result.get_future();
        {
            std::lock_guard lk(mu_);
            jobs_.push_back(std::move(j));
        }
        cv_.notify_one();
        return fut;
    }

private:
    struct Job {
        Frame frame;
        std::promise<Frame> result;
    };

    void loop() {
        for (;;) {
            std::unique_lock lk(mu_);
            cv_.wait(lk, [this] { return quit_ || !jobs_.empty(); });
            if (jobs_.empty()) return;
            Job j = std::move(jobs_.front());
            jobs_.pop_front();
            lk.unlock();

            const int n = std::min<int>(pixels_, int(j.frame.size()));
            if (n > 0) {
                CUDA_OK(cudaMemcpyAsync(buf_, j.frame.data(), n * sizeof(float),
                                        cudaMemcpyHostToDevice, stream_));
                denoise<<<(n + 255) / 256, 256, 0, stream_>>>(buf_, n, 0.02f);
                CUDA_OK(cudaGetLastError());
                CUDA_OK(cudaMemcpyAsync(j.frame.data(), buf_, n * sizeof(float),
                                        cudaMemcpyDeviceToHost, stream_));
                CUDA_OK(cudaStreamSynchronize(stream_));
            }
            j.result.set_value(std::move(j.frame));
        }
    }

    int gpu_, pixels_;
    cudaStream_t stream_ = nullptr;
    float* buf_ = nullptr;
    std::mutex mu_;
    std::condition_variable cv_;
    std::deque<Job> jobs_;
    bool quit_ = false;
    std::thread thread_;
};

int main() {
    int gpus = 0;
    CUDA_OK(cudaGetDeviceCount(&gpus));
    std::vector<std::unique_ptr<DenoiseWorker>> workers;
    for (int g = 0; g < gpus; ++g) workers.push_back(std::make_unique<DenoiseWorker>(g, 1 << 22));
    std::vector<std::future<Frame>> pending;
    for (size_t i = 0; i < 64 && !workers.empty(); ++i)
        pending.push_back(workers[i % workers.size()]->submit(Frame(1 << 22, 0.1f)));
    for (auto& f : pending) std::printf("%f\n", f.get()[0]);
}
