#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

enum State : int { Susceptible, Infected, Recovered };

struct Params { float beta, gamma; };

#define CUDA_TRY(call)                                            \
  do {                                                            \
    const cudaError_t ct_ = (call);                               \
    if (ct_ != cudaSuccess) {                                     \
      std::fprintf(stderr, "error: %s in %s\n",                   \
                   cudaGetErrorString(ct_), #call);               \
      std::exit(1);                                               \
    }                                                             \
  } while (false)

__global__ void infect(const int* contact, const int* in, int* out, int n, int deg, Params p,
                       unsigned day) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned h = (i * 2654435761u) ^ (day * 2246822519u);
  h ^= h >> 15;
  h *= 2246822519u;
  float u = (h >> 8) / float(1 << 24);
  int s = in[i];
  if (s == Infected) {
    out[i] = u < p.gamma ? Recovered : Infected;
    return;
  }
  int sick = 0;
  if (s == Susceptible)
    for (int k = 0; k < deg; ++k) sick += in[contact[i * deg + k]] == Infected;
  out[i] = (sick && u < 1.f - powf(1.f - p.beta, sick)) ? Infected : s;
}

class Town {
 public:
  Town(const std::vector<int>& contact, const std::vector<int>& state, int deg)
      : n_(int(state.size())), deg_(deg) {
    CUDA_TRY(cudaMalloc(&contact_, contact.size() * sizeof(int)));
    CUDA_TRY(cudaMalloc(&cur_, n_ * sizeof(int)));
    CUDA_TRY(cudaMalloc(&nxt_, n_ * sizeof(int)));
    CUDA_TRY(cudaMemcpy(contact_, contact.data(), contact.size() * sizeof(int),
                        cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(cur_, state.data(), n_, cudaMemcpyHostToDevice));
  }
  ~Town() {
    cudaFree(nxt_);
    cudaFree(cur_);
    cudaFree(contact_);
  }
  Town(Town const&) = delete;
  Town& operator=(Town const&) = delete;

  void day(Params p, unsigned d) {
    infect<<<(n_ + 255) / 256, 256>>>(contact_, cur_, nxt_, n_, deg_, p, d);
    CUDA_TRY(cudaGetLastError());
    std::swap(cur_, nxt_);
  }

  int count(State what) const {
    std::vector<int> h(n_);
    CUDA_TRY(cudaMemcpy(h.data(), cur_, h.size() * sizeof(int), cudaMemcpyDeviceToHost));
    int c = 0;
    for (int s : h) c += s == what;
    return c;
  }

 private:
  int n_, deg_;
  int* contact_ = nullptr;
  int* cur_ = nullptr;
  int* nxt_ = nullptr;
};

int main() {
  const int n = 200000, deg = 8;
  std::mt19937 rng(7);
  std::uniform_int_distribution<int> who(0, n - 1);
  std::vector<int> contact(size_t(n) * deg), state(n, Susceptible);
  for (int& c : contact) c = who(rng);
  for (int i = 0; i < 50; ++i) state[who(rng)] = Infected;

  Town town(contact, state, deg);
  for (unsigned d = 0; d < 120; ++d) {
    town.day({0.03f, 0.1f}, d);
    if (d % 10 == 0) std::printf("%u %d\n", d, town.count(Infected));
  }
}
