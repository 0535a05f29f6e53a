#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CU_OR_DIE(e) checkImpl((e), __FILE__, __LINE__)
static inline void checkImpl(cudaError_t e, const char *f, int l) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "CUDA %d at %s:%d (%s)\n", (int)e, f, l, cudaGetErrorString(e));
    abort();
}

__global__ void stencil(const double *in, double *out, int nx, int ny) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < nx - 1 && j < ny - 1) {
        int k = j * nx + i;
        out[k] = 0.25 * (in[k - 1] + in[k + 1] + in[k - nx] + in[k + nx]);
    }
}

struct Node {
    int dev;
    int ny;               // rows of the slab, with halo
    double *a, *b;
    cudaStream_t stream;
};

class SlabSolver {
  public:
    SlabSolver(int nx, int ny) : nx_(nx) {
        int n = 0;
        CU_OR_DIE(cudaGetDeviceCount(&n));
        nodes_.resize(n);
        for (int d = 0; d < n; d++) {
            Node &nd = nodes_[d];
            nd.dev = d;
            nd.ny = ny / n + 2;
            CU_OR_DIE(cudaSetDevice(d));
            CU_OR_DIE(cudaStreamCreate(&nd.stream));
            const size_t bytes = sizeof(double) * nx_ * nd.ny;
            CU_OR_DIE(cudaMalloc(&nd.a, bytes));
            CU_OR_DIE(cudaMalloc(&nd.b, bytes));
            CU_OR_DIE(cudaMemsetAsync(nd.a, 0, bytes, nd.stream));
            CU_OR_DIE(cudaMemsetAsync(nd.b, 0, bytes, nd.stream));
        }
    }

    ~SlabSolver() {
        for (Node &nd : nodes_) {
            cudaSetDevice(nd.dev);
            cudaStreamSynchronize(nd.stream);
            cudaFree(nd.a);
            cudaFree(nd.b);
            cudaStreamDestroy(nd.stream);
        }
    }

    SlabSolver(const SlabSolver &) = delete;
    SlabSolver &operator=(const SlabSolver &) = delete;

    void sweep() {
        dim3 blk(32, 8);
        for (Node &nd : nodes_) {
            CU_OR_DIE(cudaSetDevice(nd.dev));
            dim3 grd((nx_ + 31) / 32, (nd.ny + 7) / 8);
            stencil<<<grd, blk, 0, nd.stream>>>(nd.a, nd.b, nx_, nd.ny);
            CU_OR_DIE(cudaGetLastError());
        }
        for (Node &nd : nodes_)
            CU_OR_DIE(cudaStreamSynchronize(nd.stream));
        exchange();
        for (Node &nd : nodes_)
            std::swap(nd.a, nd.b);
    }

  private:
    void exchange() {
        const size_t row = sizeof(double) * nx_;
        for (size_t d = 0; d + 1 < nodes_.size(); d++) {
            Node &lo = nodes_[d], &hi = nodes_[d + 1];
            CU_OR_DIE(cudaMemcpyPeer(hi.b, hi.dev, lo.b + (size_t)nx_ * (lo.ny - 2), lo.dev, row));
            CU_OR_DIE(cudaMemcpyPeer(lo.b + (size_t)nx_ * (lo.ny - 1), lo.dev, hi.b + nx_, hi.dev, row));
        }
        for (Node &nd : nodes_) {
            CU_OR_DIE(cudaSetDevice(nd.dev));
            CU_OR_DIE(cudaDeviceSynchronize());
        }
    }

    int nx_;
    std::vector<Node> nodes_;
};

int main() {
    SlabSolver s(4096, 4096);
    for (int it = 0; it < 500; it++)
        s.sweep();
    puts("done");
    return 0;
}
