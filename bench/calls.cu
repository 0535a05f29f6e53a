// Nanoseconds per call of common runtime functions, one JSON object on stdout. `calls THREADS` runs them on that many threads.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

__global__ void nothing() {}

static double ns_per_call(int count, const std::function<void()> &call) {
  for (int i = 0; i < count / 10; i++) call();
  cudaDeviceSynchronize();
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; i++) call();
  auto stop = std::chrono::steady_clock::now();
  cudaDeviceSynchronize();
  return std::chrono::duration<double, std::nano>(stop - start).count() / count;
}

static void one_thread() {
  cudaStream_t stream;
  cudaEvent_t event;
  void *device, *host;
  cudaStreamCreate(&stream);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaMalloc(&device, 1 << 20);
  cudaMallocHost(&host, 1 << 20);
  struct {
    const char *name;
    int count;
    std::function<void()> call;
  } const rows[] = {
      {"cudaStreamQuery", 200000, [&] { cudaStreamQuery(stream); }},
      {"cudaEventQuery", 200000, [&] { cudaEventQuery(event); }},
      {"cudaEventRecord", 200000, [&] { cudaEventRecord(event, stream); }},
      {"cudaStreamWaitEvent", 100000, [&] { cudaStreamWaitEvent(stream, event, 0); }},
      {"kernel launch", 100000, [&] { nothing<<<1, 1, 0, stream>>>(); }},
      {"cudaMemsetAsync", 50000, [&] { cudaMemsetAsync(device, 0, 256, stream); }},
      {"cudaMemcpyAsync", 50000, [&] { cudaMemcpyAsync(device, host, 256, cudaMemcpyHostToDevice, stream); }},
      {"cudaSetDevice", 200000, [&] { cudaSetDevice(0); }},
      {"cudaMallocAsync + cudaFreeAsync", 20000,
       [&] {
         void *p;
         cudaMallocAsync(&p, 1024, stream);
         cudaFreeAsync(p, stream);
       }},
      {"cudaEventCreate + cudaEventDestroy", 20000,
       [&] {
         cudaEvent_t e;
         cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
         cudaEventDestroy(e);
       }},
  };
  const char *separator = "{";
  for (const auto &row : rows) {
    printf("%s\"%s\": %.2f", separator, row.name, ns_per_call(row.count, row.call));
    separator = ", ";
  }
  printf("}\n");
}

// Each thread records its own event on its own stream; the whole crowd's nanoseconds per call.
static void crowd(int threads) {
  constexpr int count = 50000;
  std::vector<std::thread> all;
  cudaFree(nullptr);
  auto start = std::chrono::steady_clock::now();
  for (int t = 0; t < threads; t++)
    all.emplace_back([] {
      cudaStream_t stream;
      cudaEvent_t event;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
      for (int i = 0; i < count; i++) cudaEventQuery(event);
      for (int i = 0; i < count; i++) cudaStreamQuery(stream);
      cudaEventDestroy(event);
      cudaStreamDestroy(stream);
    });
  for (auto &thread : all) thread.join();
  auto stop = std::chrono::steady_clock::now();
  double total = std::chrono::duration<double, std::nano>(stop - start).count();
  printf("{\"%d threads, cudaEventQuery and cudaStreamQuery\": %.2f}\n", threads, total / (2.0 * count * threads));
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads > 1)
    crowd(threads);
  else
    one_thread();
}
