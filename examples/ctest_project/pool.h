#pragma once

#include <cuda_runtime_api.h>

#include <vector>

// Streams that are made when they are needed, and used again.
class Pool {
  public:
    ~Pool() {
        for (cudaStream_t stream : free_) cudaStreamDestroy(stream);
    }
    cudaStream_t take() {
        cudaStream_t stream = nullptr;
        if (free_.empty()) {
            cudaStreamCreate(&stream);
        } else {
            stream = free_.back();
            free_.pop_back();
        }
        return stream;
    }
    void give_back(cudaStream_t stream) { free_.push_back(stream); }

  private:
    std::vector<cudaStream_t> free_;
};
