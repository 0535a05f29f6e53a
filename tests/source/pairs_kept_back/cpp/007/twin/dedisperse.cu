#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define RT(call)                                                                    \
  if (cudaError_t err__ = (call); err__ != cudaSuccess) {                           \
    std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err__)); \
    std::exit(1);                                                                   \
  }

__global__ void unpack(const unsigned char* raw, float* fb, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) fb[i] = raw[i] - 127.5f;
}

__global__ void dedisperse(const float* fb, float* dm, int nchan, int nsamp, int ndm) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int d = blockIdx.y;
  if (t >= nsamp || d >= ndm) return;
  float acc = 0;
  for (int c = 0; c < nchan; ++c) acc += fb[size_t(c) * nsamp + (t + d * c / 64) % nsamp];
  dm[size_t(d) * nsamp + t] = acc;
}

struct Beam {
  int nchan = 1024, nsamp = 1 << 16, ndm = 256;
  cudaStream_t ingest{}, search{};
  cudaEvent_t unpacked{}, searched{};
  unsigned char* raw{};
  float* dm{};
};

static void open(Beam& b) {
  RT(cudaStreamCreateWithFlags(&b.ingest, cudaStreamNonBlocking));
  RT(cudaStreamCreateWithFlags(&b.search, cudaStreamNonBlocking));
  RT(cudaEventCreateWithFlags(&b.unpacked, cudaEventDisableTiming));
  RT(cudaEventCreateWithFlags(&b.searched, cudaEventDisableTiming));
  RT(cudaMalloc(&b.raw, size_t(b.nchan) * b.nsamp));
  RT(cudaMalloc(&b.dm, sizeof(float) * b.ndm * size_t(b.nsamp)));
}

static void block(Beam& b, const unsigned char* host) {
  const size_t n = size_t(b.nchan) * b.nsamp;
  float* fb = nullptr;
  RT(cudaMemcpyAsync(b.raw, host, n, cudaMemcpyHostToDevice, b.ingest));
  RT(cudaMallocAsync(&fb, n * sizeof(float), b.ingest));
  unpack<<<unsigned((n + 255) / 256), 256, 0, b.ingest>>>(b.raw, fb, n);
  RT(cudaGetLastError());
  RT(cudaEventRecord(b.unpacked, b.ingest));

  RT(cudaStreamWaitEvent(b.search, b.unpacked));
  dim3 grid((b.nsamp + 255) / 256, b.ndm);
  dedisperse<<<grid, 256, 0, b.search>>>(fb, b.dm, b.nchan, b.nsamp, b.ndm);
  RT(cudaGetLastError());
  RT(cudaEventRecord(b.searched, b.search));

  RT(cudaStreamWaitEvent(b.ingest, b.searched));
  RT(cudaFreeAsync(fb, b.ingest));
}

static void close(Beam& b) {
  RT(cudaStreamSynchronize(b.ingest));
  RT(cudaStreamSynchronize(b.search));
  RT(cudaFree(b.dm));
  RT(cudaFree(b.raw));
  RT(cudaEventDestroy(b.searched));
  RT(cudaEventDestroy(b.unpacked));
  RT(cudaStreamDestroy(b.search));
  RT(cudaStreamDestroy(b.ingest));
}

int main(int argc, char** argv) {
  FILE* f = argc > 1 ? std::fopen(argv[1], "rb") : stdin;
  if (!f) return 1;
  Beam b;
  open(b);
  const size_t n = size_t(b.nchan) * b.nsamp;
  unsigned char* host = nullptr;
  RT(cudaMallocHost(&host, n));

  while (std::fread(host, 1, n, f) == n) {
    block(b, host);
    RT(cudaStreamSynchronize(b.ingest));
  }
  if (f != stdin) std::fclose(f);
  close(b);
  RT(cudaFreeHost(host));
  return 0;
}
