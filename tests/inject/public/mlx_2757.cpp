// ml-explore/mlx#2757: "[CUDA] Check CUDA error in synchronize".
// Fix b704e9e77a4f184edaf2bc64d62c3cda3134589a, parent 66519fb348df8b3ea9a04bc8b0055d72be513eaf.
// mlx/backend/cuda/worker.cpp, Worker::commit; mlx/backend/cuda/device.cpp, CommandEncoder::synchronize.
//
// This is not the code of mlx: the same calls, threads and owners, written anew. The graph of kernels that an encoder
// launches became one cudaMemsetAsync. Destructors here drop the status that those of mlx throw.

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void check_cuda_error(const char* name, cudaError_t err) {
    if (err != cudaSuccess) throw std::runtime_error(std::string(name) + " failed: " + cudaGetErrorString(err));
}
#define CHECK_CUDA_ERROR(cmd) check_cuda_error(#cmd, (cmd))

struct CudaStream {
    cudaStream_t handle = nullptr;
    CudaStream() { CHECK_CUDA_ERROR(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
    ~CudaStream() { cudaStreamDestroy(handle); }
};

struct CudaEvent {
    cudaEvent_t handle = nullptr;
    CudaEvent() { CHECK_CUDA_ERROR(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming | cudaEventBlockingSync)); }
    ~CudaEvent() { cudaEventDestroy(handle); }
};

// A thread that runs tasks when the device has reached the end of their batch.
class Worker {
  public:
    Worker() : thread_(&Worker::thread_fn, this) {}
    ~Worker();
    void add_task(std::function<void()> task) { pending_.push_back(std::move(task)); }
    void commit(cudaStream_t stream);

  private:
    using Tasks = std::vector<std::function<void()>>;
    static void signal(void* data);
    void thread_fn();

    std::mutex mutex_;
    std::condition_variable condition_;
    uint64_t committed_ = 0;
    uint64_t signaled_ = 0;
    bool stop_ = false;
    CudaStream signal_stream_;
    CudaEvent signal_event_;
    Tasks pending_;
    std::map<uint64_t, Tasks> batches_;
    std::thread thread_;
};

Worker::~Worker() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    condition_.notify_one();
    thread_.join();
}

void Worker::signal(void* data) {
    auto* worker = static_cast<Worker*>(data);
    {
        std::lock_guard lock(worker->mutex_);
        worker->signaled_++;
    }
    worker->condition_.notify_one();
}

void Worker::commit(cudaStream_t stream) {
    if (pending_.empty()) return;
    {
        std::lock_guard lock(mutex_);
        batches_[++committed_] = std::move(pending_);
    }
    CHECK_CUDA_ERROR(cudaEventRecord(signal_event_.handle, stream));
    CHECK_CUDA_ERROR(cudaStreamWaitEvent(signal_stream_.handle, signal_event_.handle, 0));
    cudaLaunchHostFunc(signal_stream_.handle, signal, this);
}

void Worker::thread_fn() {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (!stop_) {
        condition_.wait(lock, [&] { return signaled_ > seen || stop_; });
        seen = signaled_;
        Tasks ready;
        for (auto end = batches_.upper_bound(seen), it = batches_.begin(); it != end; it = batches_.erase(it))
            for (auto& task : it->second) ready.push_back(std::move(task));
        lock.unlock();
        for (auto& task : ready) task();
        ready.clear();
        lock.lock();
    }
}

class CommandEncoder {
  public:
    void commit(void* array, size_t bytes) {
        CHECK_CUDA_ERROR(cudaMemsetAsync(array, 0, bytes, stream_.handle));
        worker_.commit(stream_.handle);
    }

    void synchronize(void* array, size_t bytes) {
        cudaStreamSynchronize(stream_.handle);
        auto promise = std::make_shared<std::promise<void>>();
        std::future<void> done = promise->get_future();
        worker_.add_task([promise] { promise->set_value(); });
        promise.reset();
        commit(array, bytes);
        done.wait();
    }

  private:
    CudaStream stream_;
    Worker worker_;
};

struct Array {
    void* data = nullptr;
    explicit Array(size_t bytes) { CHECK_CUDA_ERROR(cudaMalloc(&data, bytes)); }
    ~Array() { cudaFree(data); }
};

}  // namespace

int main() {
    try {
        Array array(4096);
        CommandEncoder encoder;
        encoder.synchronize(array.data, 4096);
        std::puts("synchronized");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
