// Ways to deal with errors that are right, and were once taken for wrong ones: quiet WAY.
#include <cuda_runtime.h>
#include <signal.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ways.h"

static int failed(const char* what) {
    fprintf(stderr, "%s failed\n", what);
    return 1;
}

// A capture that does not end goes on; the work is done without a graph.
static int capture() {
    void* memory = nullptr;
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    if (cudaMalloc(&memory, 64)) return failed("cudaMalloc");
    if (cudaStreamCreate(&stream)) return cudaFree(memory), failed("cudaStreamCreate");
    bool captured = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess;
    bool good = cudaMemsetAsync(memory, 0, 64, stream) == cudaSuccess;
    if (captured && cudaStreamEndCapture(stream, &graph)) captured = false;
    if (!captured) fprintf(stderr, "no graph: the work is done at once\n");
    good = good && cudaStreamSynchronize(stream) == cudaSuccess;
    if (graph) cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(memory);
    return good ? 0 : failed("the work");
}

static void log(const char* line) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(stderr, "[%ld.%09ld] %s\n", now.tv_sec, now.tv_nsec, line);
}

// Each line of the log has its time; one names a function before it is called.
static int logged() {
    void* memory = nullptr;
    cudaStream_t stream = nullptr;
    log("cudaStreamCreate follows");
    if (cudaStreamCreate(&stream)) return log("giving up: no stream"), 1;
    if (cudaMalloc(&memory, 64)) return log("giving up: no memory for the batch"), cudaStreamDestroy(stream), 1;
    cudaFree(memory);
    cudaStreamDestroy(stream);
    return 0;
}

// The message has the line of the log statement, below the calls that clean up.
static int line_of_log() {
    void *first = nullptr, *second = nullptr;
    bool good = cudaMalloc(&first, 64) == cudaSuccess;
    good = good && cudaMalloc(&second, 64) == cudaSuccess;
    good = good && cudaMemset(second, 0, 64) == cudaSuccess;
    if (second) cudaFree(second);
    if (first) cudaFree(first);
    if (!good) fprintf(stderr, "E %s:%d] could not set the buffers up\n", __FILE__, __LINE__);
    return good ? 0 : 1;
}

// One call fails in every run, and is expected to.
static int expected() {
    void* memory = nullptr;
    if (cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20)) fprintf(stderr, "the buffer stays as it is\n");
    if (cudaMalloc(&memory, size_t{1} << 50) == cudaSuccess) cudaFree(memory);
    cudaGetLastError();
    return 0;
}

// The overload of the C++ API calls cudaEventCreateWithFlags.
static int overload() {
    cudaEvent_t event = nullptr;
    if (cudaEventCreate(&event, cudaEventDisableTiming))
        return failed("cudaEventCreate(&event, cudaEventDisableTiming)");
    cudaEventDestroy(event);
    return 0;
}

// The message is about no call of CUDA.
static int aborts() {
    void* memory = nullptr;
    if (cudaMalloc(&memory, 64)) {
        fprintf(stderr, "GPU exhausted: out of memory\n");
        abort();
    }
    cudaFree(memory);
    return 0;
}

static int ends_itself() {
    void* memory = nullptr;
    if (cudaMalloc(&memory, 64)) {
        fprintf(stderr, "GPU exhausted: out of memory\n");
        raise(SIGTERM);
    }
    cudaFree(memory);
    return 0;
}

// Kept until the end, whichever call makes it.
static int workspace() {
    void* memory = nullptr;
    if (cudaMallocAsync(&memory, 64, nullptr) != cudaSuccess) {
        cudaGetLastError();
        fprintf(stderr, "no memory pools: cudaMalloc is used\n");
        if (cudaMalloc(&memory, 64)) return failed("cudaMalloc");
    }
    return cudaMemset(memory, 0, 64) ? failed("cudaMemset") : 0;
}

// All that might have been made is ended.
static int ends_null() {
    cudaEvent_t events[2] = {};
    int code = 0;
    for (cudaEvent_t& event : events)
        if (!code && cudaEventCreate(&event)) code = failed("cudaEventCreate");
    for (cudaEvent_t event : events)
        if (event) cudaEventDestroy(event);
    return code;
}

// What is wrong shows in the results, and the message says where these are looked at.
static int results() {
    void* memory = nullptr;
    if (cudaMalloc(&memory, 64)) return failed("cudaMalloc");
    const bool wrong = cudaMemset(memory, 1, 64) != cudaSuccess;

    // The message stands so near to this call that it could be about it.
    if (cudaDeviceSynchronize()) exit(failed("cudaDeviceSynchronize"));
    if (wrong) fprintf(stderr, "%s:%d: the sums are not equal\n", __FILE__, __LINE__);
    cudaFree(memory);
    return wrong;
}

// The message is behind more output than is kept.
static int long_output() {
    cudaStream_t stream = nullptr;
    for (int i = 0; i < 20000; i++) fprintf(stderr, "iteration %d loss 0.1234\n", i);
    if (cudaStreamCreate(&stream)) {
        fprintf(stderr, "no stream\n");
        abort();
    }
    cudaStreamDestroy(stream);
    return 0;
}

// Questions and hints whose answer is not needed.
static int hints() {
    int low = 0, high = 0, pools = 0;
    size_t unused = 0, total = 0;
    cudaDeviceSetCacheConfig(cudaFuncCachePreferL1);
    if (cudaDeviceGetStreamPriorityRange(&low, &high)) low = high = 0;
    if (cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0)) pools = 0;
    if (cudaMemGetInfo(&unused, &total)) unused = total = 0;
    return 0;
}

int main(int, char** words) {
    static const Way ways[] = {{"capture", capture},         {"logged", logged},       {"line-of-log", line_of_log},
                               {"expected", expected},       {"overload", overload},   {"aborts", aborts},
                               {"ends-itself", ends_itself}, {"workspace", workspace}, {"ends-null", ends_null},
                               {"long-output", long_output}, {"results", results},     {"hints", hints}};
    return run_way(ways, words[1]);
}
