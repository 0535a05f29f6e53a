#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

static void ck(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "cuda error %d at %d\n", int(e), line);
        std::exit(2);
    }
}
#define CK(e) ck((e), __LINE__)

__global__ void attention(const float* q, float* out, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) out[i] = q[i]; }
__global__ void mlp(const float* in, float* out, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) out[i] = in[i] + 1.f; }

cudaGraphExec_t build_decode(cudaStream_t stream, const float* q, float* mid, float* out, int n)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CK(cudaStreamSynchronize(stream));
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    attention<<<(n + 127) / 128, 128, 0, stream>>>(q, mid, n);
    CK(cudaGetLastError());
    mlp<<<(n + 127) / 128, 128, 0, stream>>>(mid, out, n);
    CK(cudaGetLastError());
    CK(cudaStreamEndCapture(stream, &graph));
    CK(cudaGraphInstantiate(&exec, graph, 0));
    CK(cudaGraphDestroy(graph));
    return exec;
}
