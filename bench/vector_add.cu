// Adds two vectors on the GPU and checks the sum: what a small program does from its start to its end.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int COUNT = 50000, THREADS = 256;

__global__ void add(const float *a, const float *b, float *sum) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < COUNT) sum[at] = a[at] + b[at];
}

static void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "vector_add: %s\n", cudaGetErrorString(status));
  exit(1);
}

int main() {
  constexpr size_t bytes = COUNT * sizeof(float);
  std::vector<float> a(COUNT, 1.0f), b(COUNT, 2.0f), sum(COUNT);
  float *device_a, *device_b, *device_sum;
  check(cudaMalloc(&device_a, bytes));
  check(cudaMalloc(&device_b, bytes));
  check(cudaMalloc(&device_sum, bytes));
  check(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  check(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
  add<<<(COUNT + THREADS - 1) / THREADS, THREADS>>>(device_a, device_b, device_sum);
  check(cudaGetLastError());
  check(cudaMemcpy(sum.data(), device_sum, bytes, cudaMemcpyDeviceToHost));
  check(cudaFree(device_a));
  check(cudaFree(device_b));
  check(cudaFree(device_sum));
  for (float each : sum)
    if (each != 3.0f) {
      fprintf(stderr, "vector_add: wrong sum\n");
      return 1;
    }
  return 0;
}
