// Records one step of a simulation as a graph, instantiates it once, and launches it for every step. Between two phases
// the step is recorded anew and the executable graph is updated; if the update is refused, it is instantiated again.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <memory>
#include <type_traits>

namespace {

constexpr size_t CELLS_BYTES = 32 << 10;
int failures = 0;

bool good(const char* call, cudaError_t status) {
    if (status == cudaSuccess) return true;
    std::fprintf(stderr, "graphs: %s -> %s\n", call, cudaGetErrorName(status));
    ++failures;
    return false;
}

struct DestroyGraph {
    void operator()(cudaGraph_t graph) const { good("cudaGraphDestroy", cudaGraphDestroy(graph)); }
};
struct DestroyExec {
    void operator()(cudaGraphExec_t exec) const { good("cudaGraphExecDestroy", cudaGraphExecDestroy(exec)); }
};
struct DestroyStream {
    void operator()(cudaStream_t stream) const { good("cudaStreamDestroy", cudaStreamDestroy(stream)); }
};
struct FreeDevice {
    void operator()(void* memory) const { good("cudaFree", cudaFree(memory)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;
using Exec = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyExec>;
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;
using Memory = std::unique_ptr<void, FreeDevice>;

Memory allocate() {
    void* memory = nullptr;
    if (!good("cudaMalloc", cudaMalloc(&memory, CELLS_BYTES))) return nullptr;
    return Memory(memory);
}

bool step(void* now, void* next, int value, cudaStream_t stream) {
    return good("cudaMemsetAsync", cudaMemsetAsync(next, value, CELLS_BYTES, stream)) &&
           good("cudaMemcpyAsync", cudaMemcpyAsync(now, next, CELLS_BYTES, cudaMemcpyDeviceToDevice, stream));
}

// No graph if a call failed. A capture that has begun is ended in any case.
Graph record(void* now, void* next, int value, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    if (!good("cudaStreamBeginCapture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed))) return nullptr;
    const bool complete = step(now, next, value, stream);
    if (!good("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph))) return nullptr;
    Graph recorded(graph);
    return complete ? std::move(recorded) : nullptr;
}

Exec instantiate(const Graph& graph) {
    cudaGraphExec_t exec = nullptr;
    if (!good("cudaGraphInstantiate", cudaGraphInstantiate(&exec, graph.get(), 0))) return nullptr;
    return Exec(exec);
}

bool update(Exec& exec, const Graph& graph) {
    cudaGraphExecUpdateResultInfo info = {};
    const cudaError_t status = cudaGraphExecUpdate(exec.get(), graph.get(), &info);
    if (status != cudaErrorGraphExecUpdateFailure) return good("cudaGraphExecUpdate", status);
    std::fprintf(stderr, "graphs: the update is refused (%d): instantiating again\n", info.result);
    exec = instantiate(graph);
    return exec != nullptr;
}

bool run(const Exec& exec, int steps, cudaStream_t stream) {
    for (int i = 0; i < steps; ++i)
        if (!good("cudaGraphLaunch", cudaGraphLaunch(exec.get(), stream))) return false;
    return good("cudaStreamSynchronize", cudaStreamSynchronize(stream));
}

bool simulate() {
    cudaStream_t made = nullptr;
    if (!good("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking))) return false;
    const Stream stream(made);
    const Memory now = allocate();
    const Memory next = now ? allocate() : nullptr;
    if (!next) return false;
    const Graph first = record(now.get(), next.get(), 1, stream.get());
    Exec exec = first ? instantiate(first) : nullptr;
    if (!exec || !run(exec, 3, stream.get())) return false;
    const Graph second = record(now.get(), next.get(), 2, stream.get());
    return second && update(exec, second) && run(exec, 2, stream.get());
}

}  // namespace

int main() {
    const bool simulated = simulate();
    if (!simulated || failures > 0) return 1;
    std::puts("graphs: 5 steps in 2 phases");
    return 0;
}
