#include "session.h"

namespace serve {
namespace {

Status Map(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return Status::kOk;
    case cudaErrorMemoryAllocation: return Status::kNoMemory;
    default: return Status::kInternal;
  }
}

#define RETURN_IF_ERROR(expr)                  \
  do {                                         \
    const Status s_ = Map(expr);               \
    if (s_ != Status::kOk) return s_;          \
  } while (0)

__global__ void Relu(const float* in, float* out, size_t n) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = fmaxf(in[i], 0.f);
}

}  // namespace

Session::~Session() {
  if (copy_stream_) cudaStreamSynchronize(copy_stream_);
  if (compute_stream_) cudaStreamSynchronize(compute_stream_);
  cudaFree(d_in_);
  cudaFree(d_out_);
  if (input_ready_) cudaEventDestroy(input_ready_);
  if (copy_stream_) cudaStreamDestroy(copy_stream_);
  if (compute_stream_) cudaStreamDestroy(compute_stream_);
}

Status Session::Init(size_t max_batch, size_t features) {
  if (copy_stream_ != nullptr) return Status::kInternal;
  max_batch_ = max_batch;
  features_ = features;
  RETURN_IF_ERROR(cudaStreamCreateWithFlags(&copy_stream_, cudaStreamNonBlocking));
  RETURN_IF_ERROR(cudaStreamCreateWithFlags(&compute_stream_, cudaStreamNonBlocking));
  RETURN_IF_ERROR(cudaEventCreateWithFlags(&input_ready_, cudaEventDisableTiming));
  RETURN_IF_ERROR(cudaEventCreateWithFlags(&output_ready_, cudaEventDisableTiming));
  RETURN_IF_ERROR(cudaMalloc(reinterpret_cast<void**>(&d_in_), max_batch * features * sizeof(float)));
  RETURN_IF_ERROR(cudaMalloc(reinterpret_cast<void**>(&d_out_), max_batch * features * sizeof(float)));
  return Status::kOk;
}

// host_in and host_out must be page-locked and stay valid until Wait().
Status Session::Enqueue(const float* host_in, float* host_out, size_t batch) {
  if (batch == 0 || batch > max_batch_) return Status::kInternal;
  const size_t n = batch * features_;
  // Previous request must be off the device buffers.
  RETURN_IF_ERROR(cudaStreamSynchronize(copy_stream_));
  RETURN_IF_ERROR(cudaMemcpyAsync(d_in_, host_in, n * sizeof(float), cudaMemcpyHostToDevice, copy_stream_));
  RETURN_IF_ERROR(cudaEventRecord(input_ready_, copy_stream_));
  RETURN_IF_ERROR(cudaStreamWaitEvent(compute_stream_, input_ready_, 0));
  Relu<<<static_cast<unsigned>((n + 255) / 256), 256, 0, compute_stream_>>>(d_in_, d_out_, n);
  RETURN_IF_ERROR(cudaGetLastError());
  RETURN_IF_ERROR(cudaEventRecord(output_ready_, compute_stream_));
  RETURN_IF_ERROR(cudaStreamWaitEvent(copy_stream_, output_ready_, 0));
  RETURN_IF_ERROR(cudaMemcpyAsync(host_out, d_out_, n * sizeof(float), cudaMemcpyDeviceToHost, copy_stream_));
  return Status::kOk;
}

Status Session::Wait() { return Map(cudaStreamSynchronize(copy_stream_)); }

}  // namespace serve
