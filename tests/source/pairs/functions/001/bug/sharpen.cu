// Unsharp-mask stage of the scan import tool.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CK(call)                                                            \
  do {                                                                      \
    cudaError_t e_ = (call);                                                \
    if (e_ != cudaSuccess) {                                                \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                     \
              cudaGetErrorString(e_));                                      \
      exit(2);                                                              \
    }                                                                       \
  } while (0)

__global__ void unsharp(const unsigned char* in, unsigned char* out, int w,
                        int h, float amount) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int acc = 0, n = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int xx = x + dx, yy = y + dy;
      if (xx < 0 || yy < 0 || xx >= w || yy >= h) continue;
      acc += in[yy * w + xx];
      ++n;
    }
  float v = in[y * w + x], blur = float(acc) / n;
  out[y * w + x] = (unsigned char)fminf(255.f, fmaxf(0.f, v + amount * (v - blur)));
}

struct Lane {
  unsigned char *h_in, *h_out;
  unsigned char *d_in, *d_out;
  cudaEvent_t uploaded, drained;
  bool busy;
};

static bool read_page(FILE* f, unsigned char* dst, size_t n) {
  return fread(dst, 1, n, f) == n;
}

static void sharpen_file(FILE* in, FILE* out, int w, int h, float amount) {
  const size_t n = size_t(w) * h;
  cudaStream_t up, comp;
  CK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&comp, cudaStreamNonBlocking));

  std::vector<Lane> lanes(2);
  for (Lane& l : lanes) {
    CK(cudaMallocHost((void**)&l.h_in, n));
    CK(cudaMallocHost((void**)&l.h_out, n));
    CK(cudaMalloc((void**)&l.d_in, n));
    CK(cudaMalloc((void**)&l.d_out, n));
    CK(cudaEventCreateWithFlags(&l.uploaded, cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&l.drained, cudaEventDisableTiming));
    l.busy = false;
  }

  dim3 blk(32, 8), grd((w + 31) / 32, (h + 7) / 8);
  size_t page = 0;
  for (;; ++page) {
    Lane& l = lanes[page % 2];
    if (l.busy) {
      CK(cudaEventSynchronize(l.drained));
      fwrite(l.h_out, 1, n, out);
      l.busy = false;
    }
    if (!read_page(in, l.h_in, n)) break;

    CK(cudaEventRecord(l.uploaded, up));
    CK(cudaMemcpyAsync(l.d_in, l.h_in, n, cudaMemcpyHostToDevice, up));
    CK(cudaStreamWaitEvent(comp, l.uploaded, 0));
    unsharp<<<grd, blk, 0, comp>>>(l.d_in, l.d_out, w, h, amount);
    CK(cudaGetLastError());
    CK(cudaMemcpyAsync(l.h_out, l.d_out, n, cudaMemcpyDeviceToHost, comp));
    CK(cudaEventRecord(l.drained, comp));
    l.busy = true;
  }
  // the other lane may still hold the last page
  Lane& last = lanes[(page + 1) % 2];
  if (last.busy) {
    CK(cudaEventSynchronize(last.drained));
    fwrite(last.h_out, 1, n, out);
  }

  for (Lane& l : lanes) {
    CK(cudaEventDestroy(l.uploaded));
    CK(cudaEventDestroy(l.drained));
    CK(cudaFree(l.d_in));
    CK(cudaFree(l.d_out));
    CK(cudaFreeHost(l.h_in));
    CK(cudaFreeHost(l.h_out));
  }
  CK(cudaStreamDestroy(up));
  CK(cudaStreamDestroy(comp));
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: %s in.raw out.raw W H\n", argv[0]);
    return 1;
  }
  FILE* in = fopen(argv[1], "rb");
  FILE* out = fopen(argv[2], "wb");
  if (!in || !out) return 1;
  sharpen_file(in, out, atoi(argv[3]), atoi(argv[4]), 0.6f);
  fclose(in);
  fclose(out);
  return 0;
}
