#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <memory>
#include <vector>

namespace reco {

struct ItemTable {
  int items = 0;
  int dim = 0;
  float* emb = nullptr;  // dim x items, column major, device
};

// State that belongs to one request thread.
class Lane {
 public:
  Lane(const ItemTable& t, int device, cublasHandle_t blas);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void score(const std::vector<float>& user, std::vector<float>* out);

 private:
  const ItemTable& table_;
  cublasHandle_t blas_;
  cudaStream_t stream_ = nullptr;
  float* user_ = nullptr;
  float* result_ = nullptr;
};

void serve(const ItemTable& t, int device, const std::vector<std::vector<float>>& users,
           std::vector<std::vector<float>>* scores, int threads);

}  // namespace reco
