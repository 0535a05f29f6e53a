#pragma once
#include <cuda_runtime.h>
#include <cstdint>
#include <vector>

namespace vid {

void die(const char* file, int line, cudaError_t e);
#define VCK(x)                                          \
    do {                                                \
        cudaError_t vck_ = (x);                         \
        if (vck_ != cudaSuccess) ::vid::die(__FILE__, __LINE__, vck_); \
    } while (0)

struct Slot {
    uint8_t* host = nullptr;   // pinned
    uint8_t* dev = nullptr;
    cudaEvent_t uploaded = nullptr;
    cudaEvent_t consumed = nullptr;
};

// Ring of NV12 frames that are copied on a private stream. One object per opened clip.
class FrameUploader {
public:
    FrameUploader(int width, int height, int depth);
    ~FrameUploader();
    FrameUploader(const FrameUploader&) = delete;
    FrameUploader& operator=(const FrameUploader&) = delete;

    uint8_t* acquire();                       // host memory of the next slot
    const uint8_t* submit(cudaStream_t user); // device frame, ordered into user
    void release(cudaStream_t user);          // user is done with the frame of last submit

private:
    size_t bytes_;
    unsigned next_ = 0;
    cudaStream_t copy_ = nullptr;
    std::vector<Slot> ring_;
};

}  // namespace vid
