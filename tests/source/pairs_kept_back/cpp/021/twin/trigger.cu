#include "trigger.h"

#include <new>

struct trg_ctx {
    int cap = 0;
    uint32_t *h_hits = nullptr, *d_hits = nullptr;
    int *h_count = nullptr, *d_count = nullptr;
    cudaStream_t h2d = nullptr, work = nullptr;
    cudaEvent_t loaded = nullptr;
};

static __global__ void select_hits(const uint32_t *hits, int n, uint32_t thr, int *count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && (hits[i] & 0xffffu) > thr;
    unsigned m = __ballot_sync(0xffffffffu, keep);
    if ((threadIdx.x & 31) == 0 && m) atomicAdd(count, __popc(m));
}

extern "C" void trg_close(trg_ctx *t) {
    if (!t) return;
    if (t->h2d) cudaStreamSynchronize(t->h2d);
    if (t->work) cudaStreamSynchronize(t->work);
    cudaFree(t->d_hits);
    cudaFree(t->d_count);
    cudaFreeHost(t->h_hits);
    cudaFreeHost(t->h_count);
    if (t->loaded) cudaEventDestroy(t->loaded);
    if (t->work) cudaStreamDestroy(t->work);
    if (t->h2d) cudaStreamDestroy(t->h2d);
    delete t;
}

extern "C" trg_ctx *trg_open(int max_hits) {
    trg_ctx *t = new (std::nothrow) trg_ctx;
    if (!t) return nullptr;
    t->cap = max_hits;
    const size_t bytes = sizeof(uint32_t) * max_hits;
    if (cudaMallocHost((void **)&t->h_hits, bytes) || cudaMalloc((void **)&t->d_hits, bytes) ||
        cudaMallocHost((void **)&t->h_count, sizeof(int)) ||
        cudaMalloc((void **)&t->d_count, sizeof(int)) ||
        cudaStreamCreateWithFlags(&t->h2d, cudaStreamNonBlocking) ||
        cudaStreamCreateWithFlags(&t->work, cudaStreamNonBlocking) ||
        cudaEventCreateWithFlags(&t->loaded, cudaEventDisableTiming)) {
        trg_close(t);
        return nullptr;
    }
    return t;
}

extern "C" uint32_t *trg_buffer(trg_ctx *t) { return t->h_hits; }

extern "C" int trg_filter(trg_ctx *t, const uint32_t *hits, int n, uint32_t thr) {
    if (n <= 0 || n > t->cap) return n == 0 ? 0 : -1;

    cudaError_t e = cudaMemcpyAsync(t->d_hits, hits, sizeof(uint32_t) * n,
                                    cudaMemcpyHostToDevice, t->h2d);
    if (e == cudaSuccess) e = cudaMemsetAsync(t->d_count, 0, sizeof(int), t->work);
    if (e == cudaSuccess) e = cudaEventRecord(t->loaded, t->h2d);
    if (e == cudaSuccess) e = cudaStreamWaitEvent(t->work, t->loaded, 0);
    if (e == cudaSuccess) {
        select_hits<<<(n + 255) / 256, 256, 0, t->work>>>(t->d_hits, n, thr, t->d_count);
        e = cudaGetLastError();
    }
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(t->h_count, t->d_count, sizeof(int), cudaMemcpyDeviceToHost, t->work);
    if (e == cudaSuccess) e = cudaStreamSynchronize(t->work);
    if (e != cudaSuccess) {
        cudaStreamSynchronize(t->h2d);
        cudaStreamSynchronize(t->work);
        return -1;
    }
    return *t->h_count;
}
