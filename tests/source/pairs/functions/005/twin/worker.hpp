#pragma once
#include <atomic>
#include <cstddef>
#include <thread>

namespace membench {

struct Result {
    int device = -1;
    double gbps = 0.0;
    bool ok = false;
};

// One worker per GPU; measures device-to-device copy bandwidth.
class Worker {
public:
    Worker(int device, std::size_t bytes, int iterations);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void start(std::atomic<bool>& gate);
    Result join();

private:
    void body(std::atomic<bool>& gate);

    int device_;
    std::size_t bytes_;
    int iterations_;
    void* src_ = nullptr;
    void* dst_ = nullptr;
    std::thread thread_;
    Result result_;
};

}  // namespace membench
