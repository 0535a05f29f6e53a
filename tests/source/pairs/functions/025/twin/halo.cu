// Slab decomposition over the GPUs of one host; halo rows go directly between neighbours.
#include <cuda_runtime.h>
#include <stdexcept>
#include <sstream>
#include <vector>

class CudaFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

static void raise(cudaError_t e, const char* file, int line)
{
    std::ostringstream os;
    os << file << ':' << line << ": " << cudaGetErrorName(e) << " - " << cudaGetErrorString(e);
    throw CudaFailure(os.str());
}
#define CHECK(e) do { cudaError_t e_ = (e); if (e_ != cudaSuccess) raise(e_, __FILE__, __LINE__); } while (0)
#define CHECK_LAUNCH() CHECK(cudaGetLastError())

__global__ void diffuse(const float* in, float* out, int nx, int rows)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y + 1;
    if (x <= 0 || x >= nx - 1 || y > rows) return;
    int k = y * nx + x;
    out[k] = in[k] + 0.2f * (in[k - 1] + in[k + 1] + in[k - nx] + in[k + nx] - 4 * in[k]);
}

struct Slab {
    int dev;
    float *cur, *next;   // rows + 2 rows of nx
};

// Another solver of this process may have set up the same pair before.
static void connect(int a, int b)
{
    int can = 0;
    CHECK(cudaDeviceCanAccessPeer(&can, a, b));
    if (!can) return;
    CHECK(cudaSetDevice(a));
    cudaError_t e = cudaDeviceEnablePeerAccess(b, 0);
    if (e == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
    else
        CHECK(e);
}

void release(std::vector<Slab>& slabs)
{
    for (Slab& s : slabs) {
        cudaSetDevice(s.dev);
        cudaFree(s.cur);
        cudaFree(s.next);
    }
    slabs.clear();
}

static void step(std::vector<Slab>& slabs, int nx, int rows)
{
    const size_t line = nx * sizeof(float);
    for (size_t i = 0; i + 1 < slabs.size(); ++i) {
        Slab &lo = slabs[i], &hi = slabs[i + 1];
        CHECK(cudaMemcpyPeer(hi.cur, hi.dev, lo.cur + size_t(rows) * nx, lo.dev, line));
        CHECK(cudaMemcpyPeer(lo.cur + size_t(rows + 1) * nx, lo.dev, hi.cur + nx, hi.dev, line));
    }
    for (Slab& s : slabs) {
        CHECK(cudaSetDevice(s.dev));
        diffuse<<<dim3((nx + 127) / 128, rows), 128>>>(s.cur, s.next, nx, rows);
        CHECK_LAUNCH();
    }
    for (Slab& s : slabs) {
        CHECK(cudaSetDevice(s.dev));
        CHECK(cudaDeviceSynchronize());
        float* t = s.cur;
        s.cur = s.next;
        s.next = t;
    }
}

// Called once per job of the daemon.
void solve(float* field, int nx, int rows_per_gpu, int steps, int gpus)
{
    std::vector<Slab> slabs;
    const size_t bytes = size_t(rows_per_gpu + 2) * nx * sizeof(float);
    const size_t own = size_t(rows_per_gpu) * nx;
    try {
        for (int d = 0; d < gpus; ++d) {
            slabs.push_back(Slab{d, nullptr, nullptr});
            CHECK(cudaSetDevice(d));
            CHECK(cudaMalloc(&slabs.back().cur, bytes));
            CHECK(cudaMalloc(&slabs.back().next, bytes));
            CHECK(cudaMemset(slabs.back().cur, 0, bytes));
            CHECK(cudaMemset(slabs.back().next, 0, bytes));
            CHECK(cudaMemcpy(slabs.back().cur + nx, field + d * own, own * sizeof(float),
                             cudaMemcpyHostToDevice));
        }
        for (int d = 0; d + 1 < gpus; ++d) {
            connect(d, d + 1);
            connect(d + 1, d);
        }
        for (int i = 0; i < steps; ++i) step(slabs, nx, rows_per_gpu);
        for (int d = 0; d < gpus; ++d) {
            CHECK(cudaSetDevice(d));
            CHECK(cudaMemcpy(field + d * own, slabs[d].cur + nx, own * sizeof(float),
                             cudaMemcpyDeviceToHost));
        }
    } catch (...) {
        release(slabs);
        throw;
    }
    release(slabs);
}
