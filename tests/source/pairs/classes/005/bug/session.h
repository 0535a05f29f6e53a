#ifndef SERVE_SESSION_H_
#define SERVE_SESSION_H_

#include <cuda_runtime_api.h>
#include <cstddef>

namespace serve {

enum class Status { kOk, kNoMemory, kInternal };

class Session {
 public:
  Session() = default;
  ~Session();

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Status Init(size_t max_batch, size_t features);
  Status Enqueue(const float* host_in, float* host_out, size_t batch);
  Status Wait();

 private:
  cudaStream_t copy_stream_ = nullptr;
  cudaStream_t compute_stream_ = nullptr;
  cudaEvent_t input_ready_ = nullptr;
  cudaEvent_t output_ready_ = nullptr;
  float* d_in_ = nullptr;
  float* d_out_ = nullptr;
  size_t max_batch_ = 0;
  size_t features_ = 0;
};

}  // namespace serve

#endif  // SERVE_SESSION_H_
