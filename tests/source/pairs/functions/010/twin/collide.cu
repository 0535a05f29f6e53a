#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Broad phase on one stream, contact solving on another. Pair lists come from the
// device's default pool, sized anew every step.

#define GPU(expr) gpu_check((expr), #expr, __LINE__)

static void gpu_check(cudaError_t e, const char* expr, int line)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "collide.cu:%d: %s -> %s\n", line, expr, cudaGetErrorName(e));
        std::abort();
    }
}

struct Bodies {
    float4* pos;   // xyz, radius
    float4* vel;
    int count;
};

__global__ void broad(const float4* pos, int n, int2* pairs, int* npairs, int cap)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = i + 1; j < n; ++j) {
        float dx = pos[i].x - pos[j].x, dy = pos[i].y - pos[j].y, dz = pos[i].z - pos[j].z;
        float r = pos[i].w + pos[j].w;
        if (dx * dx + dy * dy + dz * dz < r * r) {
            int k = atomicAdd(npairs, 1);
            if (k < cap) pairs[k] = make_int2(i, j);
        }
    }
}

__global__ void solve(const float4* pos, float4* vel, const int2* pairs, const int* npairs,
                      int cap)
{
    int total = min(*npairs, cap);
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < total; k += gridDim.x * blockDim.x) {
        int2 p = pairs[k];
        float push = 0.01f * (pos[p.x].x - pos[p.y].x);
        atomicAdd(&vel[p.x].x, push);
        atomicAdd(&vel[p.y].x, -push);
    }
}

__global__ void advance(float4* pos, const float4* vel, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        pos[i].x += vel[i].x * dt;
        pos[i].y += vel[i].y * dt;
        pos[i].z += vel[i].z * dt;
    }
}

class World {
public:
    explicit World(const Bodies& b) : b_(b)
    {
        GPU(cudaStreamCreateWithFlags(&detect_, cudaStreamNonBlocking));
        GPU(cudaStreamCreateWithFlags(&resolve_, cudaStreamNonBlocking));
        GPU(cudaEventCreateWithFlags(&found_, cudaEventDisableTiming));
        GPU(cudaEventCreateWithFlags(&solved_, cudaEventDisableTiming));
    }

    ~World()
    {
        finish();
        cudaEventDestroy(solved_);
        cudaEventDestroy(found_);
        cudaStreamDestroy(resolve_);
        cudaStreamDestroy(detect_);
    }

    World(const World&) = delete;
    World& operator=(const World&) = delete;

    void step(float dt)
    {
        const int cap = b_.count * 8, blocks = (b_.count + 127) / 128;
        int2* pairs = nullptr;
        int* npairs = nullptr;

        GPU(cudaMallocAsync((void**)&pairs, cap * sizeof(int2), detect_));
        GPU(cudaMallocAsync((void**)&npairs, sizeof(int), detect_));
        GPU(cudaMemsetAsync(npairs, 0, sizeof(int), detect_));
        broad<<<blocks, 128, 0, detect_>>>(b_.pos, b_.count, pairs, npairs, cap);
        GPU(cudaGetLastError());
        GPU(cudaEventRecord(found_, detect_));

        GPU(cudaStreamWaitEvent(resolve_, found_, 0));
        solve<<<64, 128, 0, resolve_>>>(b_.pos, b_.vel, pairs, npairs, cap);
        advance<<<blocks, 128, 0, resolve_>>>(b_.pos, b_.vel, b_.count, dt);
        GPU(cudaGetLastError());
        GPU(cudaEventRecord(solved_, resolve_));

        GPU(cudaStreamWaitEvent(detect_, solved_, 0));
        GPU(cudaFreeAsync(npairs, detect_));
        GPU(cudaFreeAsync(pairs, detect_));
    }

    void finish()
    {
        GPU(cudaStreamSynchronize(resolve_));
        GPU(cudaStreamSynchronize(detect_));
    }

private:
    Bodies b_;
    cudaStream_t detect_, resolve_;
    cudaEvent_t found_, solved_;
};

void simulate(const Bodies& b, int steps, float dt)
{
    World w(b);
    for (int i = 0; i < steps; ++i) w.step(dt);
    w.finish();
}
