// A blur that owns its device memory, stream and timer through classes. A constructor that fails throws; destructors
// never throw: they note what could not be given back, and main tells it after the error that came first.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

std::vector<std::string> not_given_back;

struct CudaError : std::runtime_error {
    CudaError(const std::string& call, cudaError_t status)
        : std::runtime_error(call + ": " + cudaGetErrorString(status)), status(status) {}
    cudaError_t status;
};

void check(const char* call, cudaError_t status) {
    if (status != cudaSuccess) throw CudaError(call, status);
}

void give_back(const char* call, cudaError_t status) noexcept {
    if (status != cudaSuccess) not_given_back.push_back(std::string(call) + ": " + cudaGetErrorString(status));
}

class Buffer {
  public:
    explicit Buffer(size_t bytes) : bytes_(bytes) { check("cudaMalloc", cudaMalloc(&memory_, bytes)); }
    Buffer(Buffer&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() { reset(); }

    void reset() noexcept {
        if (memory_) give_back("cudaFree", cudaFree(memory_));
        memory_ = nullptr;
    }

    void* get() const { return memory_; }
    size_t bytes() const { return bytes_; }

  private:
    void* memory_ = nullptr;
    size_t bytes_;
};

class Stream {
  public:
    Stream() { check("cudaStreamCreate", cudaStreamCreate(&stream_)); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { give_back("cudaStreamDestroy", cudaStreamDestroy(stream_)); }

    void wait() const { check("cudaStreamSynchronize", cudaStreamSynchronize(stream_)); }
    cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

class Timer {
  public:
    Timer() {
        check("cudaEventCreate (begin)", cudaEventCreate(&begin_));
        const cudaError_t status = cudaEventCreate(&end_);
        if (status == cudaSuccess) return;
        give_back("cudaEventDestroy", cudaEventDestroy(begin_));  // no destructor runs for what was not constructed
        throw CudaError("cudaEventCreate (end)", status);
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() {
        give_back("cudaEventDestroy", cudaEventDestroy(end_));
        give_back("cudaEventDestroy", cudaEventDestroy(begin_));
    }

    void start(const Stream& stream) { check("cudaEventRecord (begin)", cudaEventRecord(begin_, stream.get())); }
    void stop(const Stream& stream) { check("cudaEventRecord (end)", cudaEventRecord(end_, stream.get())); }
    float milliseconds() const {
        float elapsed = 0;
        check("cudaEventElapsedTime", cudaEventElapsedTime(&elapsed, begin_, end_));
        return elapsed;
    }

  private:
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
};

// The second buffer of a pair. If there is no memory for it, the caches are given back first.
Buffer second_of(const Buffer& image, std::vector<Buffer>& caches) {
    try {
        return Buffer(image.bytes());
    } catch (const CudaError& error) {
        if (error.status != cudaErrorMemoryAllocation) throw;
        std::fprintf(stderr, "raii: %s; the caches are given back\n", error.what());
        for (Buffer& cache : caches) cache.reset();
    }
    return Buffer(image.bytes());
}

bool blur(std::vector<char>& pixels) {
    const Stream stream;
    Timer timer;
    std::vector<Buffer> caches;
    caches.emplace_back(pixels.size() / 4);
    const Buffer image(pixels.size());
    const Buffer blurred = second_of(image, caches);
    timer.start(stream);
    check("cudaMemcpyAsync (up)",
          cudaMemcpyAsync(image.get(), pixels.data(), pixels.size(), cudaMemcpyHostToDevice, stream.get()));
    check("cudaMemsetAsync", cudaMemsetAsync(blurred.get(), 0, blurred.bytes(), stream.get()));
    check("cudaMemcpyAsync (down)",
          cudaMemcpyAsync(pixels.data(), blurred.get(), pixels.size(), cudaMemcpyDeviceToHost, stream.get()));
    timer.stop(stream);
    stream.wait();
    return timer.milliseconds() >= 0;
}

}  // namespace

int main() {
    std::vector<char> pixels(1 << 16, 3);
    bool good = true;
    try {
        if (!blur(pixels)) throw std::runtime_error("time ran backwards");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "raii: %s\n", error.what());
        good = false;
    }
    for (const std::string& problem : not_given_back) std::fprintf(stderr, "raii: %s\n", problem.c_str());
    if (!good || !not_given_back.empty()) return 1;
    std::printf("raii: %zu pixels blurred\n", pixels.size());
    return 0;
}
