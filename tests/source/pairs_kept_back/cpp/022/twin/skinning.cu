#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace engine::gpu {

inline void Verify(cudaError_t r, int line) {
  if (r != cudaSuccess) {
    std::fprintf(stderr, "[gpu] line %d: %s\n", line, cudaGetErrorString(r));
    std::abort();
  }
}
#define VERIFY(x) ::engine::gpu::Verify((x), __LINE__)

struct Bone { float m[12]; };

__global__ void Skin(const float3* rest, const Bone* bones, const int* idx, float3* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float* m = bones[idx[i]].m;
  float3 p = rest[i];
  out[i] = make_float3(m[0] * p.x + m[1] * p.y + m[2] * p.z + m[3],
                       m[4] * p.x + m[5] * p.y + m[6] * p.z + m[7],
                       m[8] * p.x + m[9] * p.y + m[10] * p.z + m[11]);
}

__global__ void Bounds(const float3* v, int n, float* maxY) {
  float best = -1e30f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) best = fmaxf(best, v[i].y);
  __shared__ float s[256];
  s[threadIdx.x] = best;
  __syncthreads();
  for (int k = 128; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + k]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *maxY = s[0];
}

class Animator {
 public:
  Animator(int verts, int bones) : n_(verts), bones_(bones) {
    VERIFY(cudaStreamCreateWithFlags(&skin_, cudaStreamNonBlocking));
    VERIFY(cudaStreamCreateWithFlags(&cull_, cudaStreamNonBlocking));
    VERIFY(cudaEventCreateWithFlags(&skinned_, cudaEventDisableTiming));
    VERIFY(cudaEventCreateWithFlags(&culled_, cudaEventDisableTiming));
    VERIFY(cudaMalloc(&rest_, sizeof(float3) * n_));
    VERIFY(cudaMalloc(&posed_, sizeof(float3) * n_));
    VERIFY(cudaMalloc(&index_, sizeof(int) * n_));
    VERIFY(cudaMalloc(&palette_, sizeof(Bone) * bones_));
    VERIFY(cudaMalloc(&maxY_, sizeof(float)));
    VERIFY(cudaMemset(rest_, 0, sizeof(float3) * n_));
    VERIFY(cudaMemset(index_, 0, sizeof(int) * n_));
    VERIFY(cudaDeviceSynchronize());
  }
  ~Animator() {
    cudaStreamSynchronize(skin_);
    cudaStreamSynchronize(cull_);
    for (void* p : std::array<void*, 5>{rest_, posed_, index_, palette_, maxY_}) cudaFree(p);
    cudaEventDestroy(culled_);
    cudaEventDestroy(skinned_);
    cudaStreamDestroy(cull_);
    cudaStreamDestroy(skin_);
  }
  Animator(const Animator&) = delete;
  Animator& operator=(const Animator&) = delete;

  void Frame(const Bone* pinnedPalette) {
    VERIFY(cudaMemcpyAsync(palette_, pinnedPalette, sizeof(Bone) * bones_,
                           cudaMemcpyHostToDevice, skin_));
    // the previous frame may still be read by the culling pass
    VERIFY(cudaStreamWaitEvent(skin_, culled_, 0));
    Skin<<<(n_ + 127) / 128, 128, 0, skin_>>>(rest_, palette_, index_, posed_, n_);
    VERIFY(cudaGetLastError());
    VERIFY(cudaEventRecord(skinned_, skin_));

    VERIFY(cudaStreamWaitEvent(cull_, skinned_, 0));
    Bounds<<<1, 256, 0, cull_>>>(posed_, n_, maxY_);
    VERIFY(cudaGetLastError());
    VERIFY(cudaEventRecord(culled_, cull_));
  }

  float Height() {
    float y = 0;
    VERIFY(cudaMemcpyAsync(&y, maxY_, sizeof y, cudaMemcpyDeviceToHost, cull_));
    VERIFY(cudaStreamSynchronize(cull_));
    return y;
  }

 private:
  int n_, bones_;
  cudaStream_t skin_{}, cull_{};
  cudaEvent_t skinned_{}, culled_{};
  float3 *rest_{}, *posed_{};
  int* index_{};
  Bone* palette_{};
  float* maxY_{};
};

}  // namespace engine::gpu

int main() {
  engine::gpu::Bone* palette = nullptr;
  VERIFY(cudaMallocHost(&palette, sizeof(*palette) * 64));
  {
    engine::gpu::Animator a(20000, 64);
    for (int f = 0; f < 240; ++f) {
      for (int b = 0; b < 64; ++b)
        for (int k = 0; k < 12; ++k) palette[b].m[k] = (k % 5 == 0) + 0.001f * f;
      a.Frame(palette);
      if (a.Height() > 1e6f) std::puts("out of range");
    }
  }
  VERIFY(cudaFreeHost(palette));
}
