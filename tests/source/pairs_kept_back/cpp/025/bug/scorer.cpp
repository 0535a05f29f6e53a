#include "scorer.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace reco {

namespace {
void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "reco: %s failed\n", what);
  std::abort();
}
void cu(cudaError_t e, const char* what) { check(e == cudaSuccess, what); }
void cb(cublasStatus_t e, const char* what) { check(e == CUBLAS_STATUS_SUCCESS, what); }
}  // namespace

Lane::Lane(const ItemTable& t, int device, cublasHandle_t blas) : table_(t), blas_(blas) {
  cu(cudaSetDevice(device), "device");
  cu(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  cu(cudaMalloc(reinterpret_cast<void**>(&user_), t.dim * sizeof(float)), "user vector");
  cu(cudaMalloc(reinterpret_cast<void**>(&result_), t.items * sizeof(float)), "scores");
}

Lane::~Lane() {
  cudaStreamSynchronize(stream_);
  cudaFree(result_);
  cudaFree(user_);
  cudaStreamDestroy(stream_);
}

void Lane::score(const std::vector<float>& user, std::vector<float>* out) {
  const float one = 1.f, zero = 0.f;
  out->resize(table_.items);
  cu(cudaMemcpyAsync(user_, user.data(), table_.dim * sizeof(float), cudaMemcpyHostToDevice,
                     stream_), "upload");
  cb(cublasSetStream(blas_, stream_), "cublas stream");
  cb(cublasSgemv(blas_, CUBLAS_OP_T, table_.dim, table_.items, &one, table_.emb, table_.dim,
                 user_, 1, &zero, result_, 1), "gemv");
  cu(cudaMemcpyAsync(out->data(), result_, table_.items * sizeof(float), cudaMemcpyDeviceToHost,
                     stream_), "download");
  cu(cudaStreamSynchronize(stream_), "sync");
}

void serve(const ItemTable& t, int device, const std::vector<std::vector<float>>& users,
           std::vector<std::vector<float>>* scores, int threads) {
  scores->resize(users.size());
  cublasHandle_t blas = nullptr;
  cu(cudaSetDevice(device), "device");
  cb(cublasCreate(&blas), "cublas");
  std::atomic<size_t> next{0};
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&] {
      Lane lane(t, device, blas);
      for (size_t k = next++; k < users.size(); k = next++) lane.score(users[k], &(*scores)[k]);
    });
  }
  for (std::thread& th : pool) th.join();
  cb(cublasDestroy(blas), "cublas");
}

}  // namespace reco
