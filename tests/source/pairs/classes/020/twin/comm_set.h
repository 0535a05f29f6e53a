#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <vector>

namespace trainer {

// One communicator and one stream per local GPU, all driven by one thread.
class CommSet {
 public:
  explicit CommSet(std::vector<int> devices);
  ~CommSet();

  CommSet(const CommSet&) = delete;
  CommSet& operator=(const CommSet&) = delete;

  void AllReduceSum(const std::vector<float*>& grads, size_t count);
  void Sync();
  size_t size() const { return devices_.size(); }
  cudaStream_t stream(size_t i) const { return streams_[i]; }

 private:
  void Teardown();

  std::vector<int> devices_;
  std::vector<cudaStream_t> streams_;
  std::vector<ncclComm_t> comms_;
};

}  // namespace trainer
