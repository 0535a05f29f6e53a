#include "comm_set.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace trainer {
namespace {

void Cuda(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

void Nccl(ncclResult_t r) {
  if (r != ncclSuccess) throw std::runtime_error(std::string("NCCL: ") + ncclGetErrorString(r));
}

}  // namespace

CommSet::CommSet(std::vector<int> devices)
    : devices_(std::move(devices)),
      streams_(devices_.size(), nullptr),
      comms_(devices_.size(), nullptr) {
  try {
    ncclUniqueId id;
    Nccl(ncclGetUniqueId(&id));
    const int n = static_cast<int>(devices_.size());
    for (int r = 0; r < n; ++r) {
      Cuda(cudaSetDevice(devices_[r]));
      Cuda(cudaStreamCreateWithFlags(&streams_[r], cudaStreamNonBlocking));
    }
    ncclResult_t res = ncclSuccess;
    for (int r = 0; r < n && res == ncclSuccess; ++r) {
      if (cudaSetDevice(devices_[r]) != cudaSuccess)
        res = ncclUnhandledCudaError;
      else
        res = ncclCommInitRank(&comms_[r], n, id, r);
    }
    Nccl(res);
  } catch (...) {
    Teardown();
    throw;
  }
}

CommSet::~CommSet() { Teardown(); }

void CommSet::Teardown() {
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (!streams_[i]) continue;
    cudaSetDevice(devices_[i]);
    cudaStreamSynchronize(streams_[i]);
  }
  for (ncclComm_t c : comms_)
    if (c) ncclCommDestroy(c);
  for (size_t i = 0; i < devices_.size(); ++i)
    if (streams_[i]) cudaStreamDestroy(streams_[i]);
}

void CommSet::AllReduceSum(const std::vector<float*>& grads, size_t count) {
  if (grads.size() != size()) throw std::invalid_argument("one gradient buffer per GPU");
  ncclResult_t res = ncclSuccess;
  Nccl(ncclGroupStart());
  for (size_t i = 0; i < size() && res == ncclSuccess; ++i)
    res = ncclAllReduce(grads[i], grads[i], count, ncclFloat, ncclSum, comms_[i], streams_[i]);
  const ncclResult_t end = ncclGroupEnd();
  Nccl(res);
  Nccl(end);
}

void CommSet::Sync() {
  for (size_t i = 0; i < size(); ++i) {
    Cuda(cudaSetDevice(devices_[i]));
    Cuda(cudaStreamSynchronize(streams_[i]));
  }
}

}  // namespace trainer
