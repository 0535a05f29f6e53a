// NVIDIA/MatX#1241: "Unchecked CUDA calls in noexcept functions cause sticky errors to leak into unrelated downstream
// The same with the fix.
// paths". Fix: pull request 1244 (merged). Parent: read at commit 4d58c1a823a6a979e9c12d5a5b395f7e8ab48e8d.
// include/matx/core/tensor.h, tensor_t::PrefetchDevice.
//
// This is not the code of MatX: the same calls and the same checks, written anew. The kernel of the operator became one
// cudaMemsetAsync.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <stdexcept>

namespace {

#define MATX_CUDA_CHECK(e)                                                                                       \
    do {                                                                                                         \
        const auto e_ = (e);                                                                                     \
        if (e_ != cudaSuccess) {                                                                                 \
            std::fprintf(stderr, "%s:%d CUDA Error: %s (%d)\n", __FILE__, __LINE__, cudaGetErrorString(e_), e_); \
            throw std::runtime_error(cudaGetErrorString(e_));                                                    \
        }                                                                                                        \
    } while (0)
#define MATX_CUDA_CHECK_LAST_ERROR() MATX_CUDA_CHECK(cudaGetLastError())
#define MATX_CUDA_CHECK_NOEXCEPT(e)                                                                              \
    do {                                                                                                         \
        const auto e_ = (e);                                                                                     \
        if (e_ != cudaSuccess)                                                                                   \
            std::fprintf(stderr, "%s:%d CUDA Error: %s (%d)\n", __FILE__, __LINE__, cudaGetErrorString(e_), e_); \
    } while (0)

class Tensor {
  public:
    explicit Tensor(size_t bytes) : bytes_(bytes) { MATX_CUDA_CHECK(cudaMallocManaged(&data_, bytes, 1)); }
    ~Tensor() { cudaFree(data_); }

    void PrefetchDevice(cudaStream_t const stream) const noexcept {
        int dev = 0;
        MATX_CUDA_CHECK_NOEXCEPT(cudaGetDevice(&dev));
        cudaMemLocation loc = {};
        loc.id = dev;
        loc.type = cudaMemLocationTypeDevice;
        MATX_CUDA_CHECK_NOEXCEPT(cudaMemPrefetchAsync(data_, bytes_, loc, 0, stream));
    }

    void* Data() const { return data_; }
    size_t Bytes() const { return bytes_; }

  private:
    void* data_ = nullptr;
    size_t bytes_;
};

class cudaExecutor {
  public:
    cudaExecutor() { MATX_CUDA_CHECK(cudaStreamCreate(&stream_)); }
    ~cudaExecutor() { cudaStreamDestroy(stream_); }

    cudaStream_t getStream() const { return stream_; }
    void Exec(const Tensor& tensor) const {
        MATX_CUDA_CHECK(cudaMemsetAsync(tensor.Data(), 0, tensor.Bytes(), stream_));
    }
    void sync() const { MATX_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

  private:
    cudaStream_t stream_ = nullptr;
};

void run_pipeline() {
    Tensor waveform(4096);
    cudaExecutor exec;
    waveform.PrefetchDevice(exec.getStream());

    exec.Exec(waveform);
    exec.sync();

    MATX_CUDA_CHECK_LAST_ERROR();
}

}  // namespace

int main() {
    try {
        run_pipeline();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "the pipeline ended: %s\n", error.what());
        return 1;
    }
    std::puts("done");
    return 0;
}
