#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDACHECK(cmd) do {                                               \
    cudaError_t e = cmd;                                                  \
    if (e != cudaSuccess) {                                               \
      printf("CUDA failure %s:%d '%s'\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(EXIT_FAILURE);                                                 \
    }                                                                     \
  } while (0)

#define NCCLCHECK(cmd) do {                                               \
    ncclResult_t nr_ = cmd;                                                 \
    if (nr_ != ncclSuccess) {                                             \
      printf("NCCL failure %s:%d '%s'\n", __FILE__, __LINE__, ncclGetErrorString(nr_)); \
      exit(EXIT_FAILURE);                                                 \
    }                                                                     \
  } while (0)

struct Replica {
  int dev;
  ncclComm_t comm;
  cudaStream_t stream;
  float* grad;
};

__global__ void average(float* g, size_t n, float k) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) g[i] *= k;
}

static void sync_gradients(std::vector<Replica>& reps, size_t n) {
  for (Replica& r : reps)
    NCCLCHECK(ncclAllReduce(r.grad, r.grad, n, ncclFloat, ncclSum, r.comm, r.stream));

  for (Replica& r : reps) {
    CUDACHECK(cudaSetDevice(r.dev));
    average<<<(unsigned)((n + 255) / 256), 256, 0, r.stream>>>(r.grad, n, 1.0f / reps.size());
    CUDACHECK(cudaGetLastError());
  }
  for (Replica& r : reps) CUDACHECK(cudaStreamSynchronize(r.stream));
}

int main() {
  int ndev = 0;
  CUDACHECK(cudaGetDeviceCount(&ndev));
  if (ndev == 0) return 1;
  const size_t n = 25u << 20;

  std::vector<Replica> reps(ndev);
  std::vector<ncclComm_t> comms(ndev);
  std::vector<int> devs(ndev);
  for (int i = 0; i < ndev; ++i) devs[i] = i;
  NCCLCHECK(ncclCommInitAll(comms.data(), ndev, devs.data()));

  for (int i = 0; i < ndev; ++i) {
    Replica& r = reps[i];
    r.dev = i;
    r.comm = comms[i];
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
    CUDACHECK(cudaMalloc(&r.grad, n * sizeof(float)));
    CUDACHECK(cudaMemsetAsync(r.grad, 0, n * sizeof(float), r.stream));
  }

  for (int step = 0; step < 50; ++step) sync_gradients(reps, n);

  for (Replica& r : reps) {
    CUDACHECK(cudaSetDevice(r.dev));
    CUDACHECK(cudaStreamSynchronize(r.stream));
    NCCLCHECK(ncclCommDestroy(r.comm));
    CUDACHECK(cudaFree(r.grad));
    CUDACHECK(cudaStreamDestroy(r.stream));
  }
  printf("ok\n");
  return 0;
}
