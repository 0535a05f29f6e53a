// Frames go to the device, through one kernel, and back, all on one stream. The first call that fails is told on stderr
// and ends the work; close() then gives back what was made until there.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

constexpr size_t FRAME_BYTES = 64 << 10;
constexpr unsigned BLOCK = 256;
constexpr int FRAMES = 4;

const char BRIGHTEN[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry brighten(.param .u64 pixels, .param .u32 count) { ret; }\n";

bool succeeded(const char* call, cudaError_t status) {
    if (status == cudaSuccess) return true;
    std::fprintf(stderr, "pipeline: %s: %s\n", call, cudaGetErrorString(status));
    return false;
}

#define TRY(call) \
    if (!succeeded(#call, call)) return false

class Pipeline {
  public:
    bool open();
    bool process(std::vector<unsigned char>& frame);
    bool close();

  private:
    cudaLibrary_t code_ = nullptr;
    cudaKernel_t brighten_ = nullptr;
    cudaStream_t stream_ = nullptr;
    unsigned char* staging_ = nullptr;
    unsigned char* pixels_ = nullptr;
};

bool Pipeline::open() {
    TRY(cudaSetDevice(0));
    TRY(cudaLibraryLoadData(&code_, BRIGHTEN, nullptr, nullptr, 0, nullptr, nullptr, 0));
    TRY(cudaLibraryGetKernel(&brighten_, code_, "brighten"));
    TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TRY(cudaMallocHost(reinterpret_cast<void**>(&staging_), FRAME_BYTES));
    TRY(cudaMalloc(reinterpret_cast<void**>(&pixels_), FRAME_BYTES));
    TRY(cudaMemsetAsync(pixels_, 0, FRAME_BYTES, stream_));
    return true;
}

bool Pipeline::process(std::vector<unsigned char>& frame) {
    unsigned count = FRAME_BYTES;
    void* arguments[] = {&pixels_, &count};
    std::copy(frame.begin(), frame.end(), staging_);
    TRY(cudaMemcpyAsync(pixels_, staging_, FRAME_BYTES, cudaMemcpyHostToDevice, stream_));
    TRY(cudaLaunchKernel(brighten_, dim3(count / BLOCK), dim3(BLOCK), arguments, 0, stream_));
    TRY(cudaMemcpyAsync(staging_, pixels_, FRAME_BYTES, cudaMemcpyDeviceToHost, stream_));
    TRY(cudaStreamSynchronize(stream_));
    std::copy(staging_, staging_ + FRAME_BYTES, frame.begin());
    return true;
}

// Goes on when an object cannot be given back: the others still can.
bool Pipeline::close() {
    bool all = true;
    if (pixels_) all &= succeeded("cudaFree(pixels_)", cudaFree(pixels_));
    if (staging_) all &= succeeded("cudaFreeHost(staging_)", cudaFreeHost(staging_));
    if (stream_) all &= succeeded("cudaStreamDestroy(stream_)", cudaStreamDestroy(stream_));
    if (code_) all &= succeeded("cudaLibraryUnload(code_)", cudaLibraryUnload(code_));
    return all;
}

}  // namespace

int main() {
    Pipeline pipeline;
    std::vector<unsigned char> frame(FRAME_BYTES, 16);
    bool good = pipeline.open();
    for (int i = 0; good && i < FRAMES; ++i) good = pipeline.process(frame);
    good = pipeline.close() && good;
    if (!good) return 1;
    std::printf("pipeline: %d frames of %zu bytes\n", FRAMES, FRAME_BYTES);
    return 0;
}
