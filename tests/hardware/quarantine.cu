// What a quarantine changes on a GPU: one line of JSON. Run by quarantine.py, without cuvet and under it.
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int TIMES = 1000;
constexpr size_t MIB = 1 << 20;

__global__ void spin(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

double now_us() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

size_t free_bytes() {
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return free;
}

template <class Handle>
struct Kind {
    const char* name;
    std::function<Handle()> make;
    std::function<void(Handle)> end;
};

double synchronise_us() {
    cudaDeviceSynchronize();
    const double start = now_us();
    for (int i = 0; i < 100; i++) cudaDeviceSynchronize();
    return (now_us() - start) / 100;
}

// How often the next object gets the value of one that has just ended, and of any that has ended; what a pair costs.
template <class Handle>
void measure(const Kind<Handle>& kind) {
    std::set<Handle> ended;
    Handle last{};
    int next = 0, any = 0;
    kind.end(kind.make());
    const size_t before = free_bytes();
    const double start = now_us();
    for (int i = 0; i < TIMES; i++) {
        const Handle made = kind.make();
        next += i && made == last;
        any += ended.count(made) > 0;
        ended.insert(last = made);
        kind.end(made);
    }
    const double pair_us = (now_us() - start) / TIMES;
    const double synchronised_us = synchronise_us();  // with all that is kept; cudaMemGetInfo ends the streams of it
    printf("\"%s\": {\"next\": %d, \"any\": %d, \"of\": %d, \"pair_us\": %.3f, \"synchronise_us\": %.3f, \"bytes\": %lld}, ",
           kind.name, next, any, TIMES, pair_us, synchronised_us, static_cast<long long>(before - free_bytes()));
}

// Whether the end of something waits for work that runs meanwhile.
void waits(const char* name, const std::function<void(cudaStream_t)>& end) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    spin<<<1, 1, 0, stream>>>(20'000'000);
    const double start = now_us();
    end(stream);
    const bool running = cudaStreamQuery(stream) == cudaErrorNotReady;
    printf("\"%s\": {\"us\": %.1f, \"still_running\": %s}, ", name, now_us() - start, running ? "true" : "false");
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
}

cudaGraphExec_t instantiated() {
    cudaGraph_t graph;
    cudaGraphExec_t made;
    cudaGraphCreate(&graph, 0);
    cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    return made;
}

// What the call returns while this thread captures, and whether the capture is valid afterwards.
void captured(const char* name, const std::function<cudaError_t()>& call) {
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    const int status = call();
    const int end = cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();
    printf("\"%s\": [%d, %d], ", name, status, end);
}

int allocated_up_to_the_limit() {
    std::vector<void*> all;
    void* memory;
    while (cudaMalloc(&memory, 64 * MIB) == cudaSuccess) all.push_back(memory);
    cudaGetLastError();
    const int count = static_cast<int>(all.size());
    for (void* each : all) cudaFree(each);
    return count;
}

}  // namespace

int main() {
    if (const cudaError_t error = cudaFree(nullptr)) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        return 1;
    }
    printf("{");
    measure<cudaStream_t>({"stream", [] { cudaStream_t s; cudaStreamCreate(&s); return s; }, cudaStreamDestroy});
    measure<cudaEvent_t>({"event", [] { cudaEvent_t e; cudaEventCreate(&e); return e; }, cudaEventDestroy});
    measure<cudaEvent_t>({"event without timing",
                          [] { cudaEvent_t e; cudaEventCreateWithFlags(&e, cudaEventDisableTiming); return e; },
                          cudaEventDestroy});
    measure<cudaGraph_t>({"graph", [] { cudaGraph_t g; cudaGraphCreate(&g, 0); return g; }, cudaGraphDestroy});
    measure<cudaGraphExec_t>({"executable graph", instantiated, cudaGraphExecDestroy});
    for (const size_t bytes : {size_t{512}, MIB, 8 * MIB}) {
        const std::string name = "memory of " + std::to_string(bytes);
        measure<void*>({name.c_str(), [=] { void* p; cudaMalloc(&p, bytes); return p; }, cudaFree});
    }
    measure<void*>({"pinned memory", [] { void* p; cudaMallocHost(&p, MIB); return p; }, cudaFreeHost});
    measure<void*>({"managed memory", [] { void* p; cudaMallocManaged(&p, MIB); return p; }, cudaFree});
    measure<cudaArray_t>({"array",
                          [] {
                              cudaArray_t a;
                              const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
                              cudaMallocArray(&a, &format, 256, 256);
                              return a;
                          },
                          cudaFreeArray});
    void *memory, *pinned;
    cudaGraphExec_t executable = instantiated();
    cudaMalloc(&memory, MIB);
    cudaMallocHost(&pinned, MIB);
    waits("cudaFree waits", [&](cudaStream_t) { cudaFree(memory); });
    waits("cudaFreeHost waits", [&](cudaStream_t) { cudaFreeHost(pinned); });
    waits("cudaGraphExecDestroy waits", [&](cudaStream_t) { cudaGraphExecDestroy(executable); });
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    executable = instantiated();
    captured("cudaGraphDestroy captured", [&] { return cudaGraphDestroy(graph); });
    captured("cudaGraphExecDestroy captured", [&] { return cudaGraphExecDestroy(executable); });
    captured("cudaMalloc captured", [&] { return cudaMalloc(&memory, MIB); });
    size_t free, total;
    captured("cudaMemGetInfo captured", [&] { return cudaMemGetInfo(&free, &total); });
    const size_t whole = free_bytes();
    const int first = allocated_up_to_the_limit(), second = allocated_up_to_the_limit();
    printf("\"allocations of 64 MiB\": [%d, %d], \"free bytes lost\": %lld}\n", first, second,
           static_cast<long long>(whole - free_bytes()));
    return 0;
}
