#include <cuda_runtime.h>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>

static void ok(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct StreamDel { void operator()(cudaStream_t s) const { cudaStreamDestroy(s); } };
struct GraphDel { void operator()(cudaGraph_t g) const { cudaGraphDestroy(g); } };
struct ExecDel { void operator()(cudaGraphExec_t x) const { cudaGraphExecDestroy(x); } };
struct MemDel { void operator()(float* p) const { cudaFree(p); } };
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, StreamDel>;
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, GraphDel>;
using Exec = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, ExecDel>;
using Buffer = std::unique_ptr<float, MemDel>;

__global__ void blur(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i + 1 < n) out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3.0f;
}

static Buffer alloc(int n) {
    float* p = nullptr;
    ok(cudaMalloc(&p, n * sizeof(float)));
    Buffer b(p);
    ok(cudaMemset(p, 0, n * sizeof(float)));
    return b;
}

static void blurPass(const float* in, float* out, int n, cudaStream_t s) {
    blur<<<(n + 255) / 256, 256, 0, s>>>(in, out, n);
    ok(cudaGetLastError());
    ok(cudaStreamSynchronize(s));
}

static Exec record(cudaStream_t s, const std::function<void()>& body) {
    ok(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t raw = nullptr;
    try {
        body();
    } catch (...) {
        if (cudaStreamEndCapture(s, &raw) == cudaSuccess && raw) cudaGraphDestroy(raw);
        throw;
    }
    ok(cudaStreamEndCapture(s, &raw));
    Graph graph(raw);
    cudaGraphExec_t x = nullptr;
    ok(cudaGraphInstantiateWithFlags(&x, graph.get(), 0));
    return Exec(x);
}

int main() try {
    const int n = 1 << 16;
    cudaStream_t s = nullptr;
    ok(cudaStreamCreate(&s));
    Stream stream(s);
    Buffer a = alloc(n), b = alloc(n);
    Exec exec = record(s, [&] {
        blurPass(a.get(), b.get(), n, s);
        blurPass(b.get(), a.get(), n, s);
    });
    for (int i = 0; i < 20; ++i) ok(cudaGraphLaunch(exec.get(), s));
    ok(cudaStreamSynchronize(s));
    std::puts("denoised");
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
