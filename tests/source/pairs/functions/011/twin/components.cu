// Connected components by label propagation, for the road-network importer.
#include <cuda_runtime.h>

#include <algorithm>
#include <iostream>
#include <unordered_set>
#include <vector>

template <class T>
struct Managed {
  T* p = nullptr;
  size_t n = 0;
  explicit Managed(size_t count) : n(count) {
    if (cudaMallocManaged(&p, count * sizeof(T)) != cudaSuccess) p = nullptr;
  }
  ~Managed() { if (p) cudaFree(p); }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  explicit operator bool() const { return p != nullptr; }
};

__global__ void propagate(const int2* edges, int m, int* label, int* changed) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int a = label[edges[e].x], b = label[edges[e].y];
  if (a == b) return;
  int lo = min(a, b);
  atomicMin(&label[edges[e].x], lo);
  atomicMin(&label[edges[e].y], lo);
  *changed = 1;
}

// Returns the number of components, or -1.
int components(const std::vector<int2>& edges, int nodes, std::vector<int>& out) {
  Managed<int2> e(std::max<size_t>(edges.size(), 1));
  Managed<int> label(nodes);
  Managed<int> changed(1);
  if (!e || !label || !changed) {
    std::cerr << "components: out of memory\n";
    return -1;
  }
  std::copy(edges.begin(), edges.end(), e.p);
  for (int i = 0; i < nodes; ++i) label.p[i] = i;

  const int m = static_cast<int>(edges.size());
  int rounds = 0;
  if (m > 0) {
    do {
      *changed.p = 0;
      propagate<<<(m + 255) / 256, 256>>>(e.p, m, label.p, changed.p);
      if (cudaGetLastError() != cudaSuccess) return -1;
      if (cudaDeviceSynchronize() != cudaSuccess) return -1;
      ++rounds;
    } while (*changed.p != 0);
  }

  out.assign(label.p, label.p + nodes);
  std::unordered_set<int> roots(out.begin(), out.end());
  std::clog << "components: " << roots.size() << " after " << rounds << " rounds\n";
  return static_cast<int>(roots.size());
}

int main() {
  int n = 0, m = 0;
  if (!(std::cin >> n >> m) || n <= 0 || m < 0) return 1;
  std::vector<int2> edges(m);
  for (auto& e : edges) {
    std::cin >> e.x >> e.y;
    if (!std::cin || e.x < 0 || e.y < 0 || e.x >= n || e.y >= n) return 1;
  }
  std::vector<int> label;
  int c = components(edges, n, label);
  if (c < 0) return 2;
  std::cout << c << '\n';
  return 0;
}
