// What a call costs on the emulated device, in microseconds. To be run under cuvet:
//
//     cuvet run --device emulated -- emulated_calls [TURNS]
//
// Prints a line for turns of six runtime calls, with how many driver calls come of each turn, and a line for each
// driver call.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <vector>

namespace {

constexpr int DRIVER_CALLS_OF_A_TURN = 12;  // the runtime asks for the current context before each of its own
constexpr size_t BYTES = 4096;

double now_us() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

void* library(const char* name) {
    void* found = dlopen(name, RTLD_NOW);
    if (found) return found;
    fprintf(stderr, "emulated_calls: %s\n", dlerror());
    exit(2);
}

void* symbol(void* library, const char* name) {
    void* found = dlsym(library, name);
    if (found) return found;
    fprintf(stderr, "emulated_calls: %s\n", dlerror());
    exit(2);
}

void check(const char* name, int status) {
    if (status == 0) return;
    fprintf(stderr, "emulated_calls: %s returned %d\n", name, status);
    exit(1);
}

// A word of any type goes to the same place as a pointer.
template <class... Words>
int call(void* function, Words... words) {
    return reinterpret_cast<int (*)(Words...)>(function)(words...);
}

void measure_runtime(int turns) {
    void* runtime = library("libcudart.so.13");
    void* allocate = symbol(runtime, "cudaMalloc");
    void* set = symbol(runtime, "cudaMemset");
    void* copy = symbol(runtime, "cudaMemcpy");
    void* synchronize = symbol(runtime, "cudaDeviceSynchronize");
    void* free_memory = symbol(runtime, "cudaFree");
    std::vector<char> host(BYTES);
    const auto turn = [&] {
        void* memory = nullptr;
        check("cudaMalloc", call(allocate, &memory, BYTES));
        check("cudaMemset", call(set, memory, 1, BYTES));
        check("cudaMemcpy", call(copy, memory, host.data(), BYTES, 1));
        check("cudaMemcpy", call(copy, host.data(), memory, BYTES, 2));
        check("cudaDeviceSynchronize", call(synchronize));
        check("cudaFree", call(free_memory, memory));
    };
    turn();
    const double start = now_us();
    for (int i = 0; i < turns; i++) turn();
    const double per_turn = (now_us() - start) / turns;
    printf("%d turns of 6 runtime calls: %.2f s, %.1f us a runtime call, %.1f us a driver call\n", turns,
           per_turn * turns / 1e6, per_turn / 6, per_turn / DRIVER_CALLS_OF_A_TURN);
}

template <class Body>
void measure(const char* name, int turns, Body body) {
    body();
    const double start = now_us();
    for (int i = 0; i < turns; i++) body();
    printf("  %-24s %8.1f us\n", name, (now_us() - start) / turns);
}

void measure_driver(int turns) {
    void* driver = library("libcuda.so.1");
    void *context = nullptr, *stream = nullptr, *event = nullptr;
    uint64_t memory = 0;
    int value = 0;
    std::vector<char> host(BYTES);
    check("cuStreamCreate", call(symbol(driver, "cuStreamCreate"), &stream, 1));
    check("cuEventCreate", call(symbol(driver, "cuEventCreate"), &event, 0));
    check("cuMemAlloc", call(symbol(driver, "cuMemAlloc_v2"), &memory, BYTES));
    const auto each = [&](const char* name, auto... words) {
        void* function = symbol(driver, name);
        measure(name, turns, [&] { check(name, call(function, words...)); });
    };
    each("cuCtxGetCurrent", &context);
    each("cuDeviceGetAttribute", &value, 16, 0);
    each("cuDriverGetVersion", &value);
    each("cuEventRecord", event, stream);
    each("cuStreamWaitEvent", stream, event, 0);
    each("cuMemsetD8Async", memory, 1, BYTES, stream);
    each("cuMemcpyHtoDAsync_v2", memory, host.data(), BYTES, stream);
    each("cuStreamSynchronize", stream);
    void* create = symbol(driver, "cuEventCreate");
    void* destroy = symbol(driver, "cuEventDestroy_v2");
    measure("cuEventCreate + Destroy", turns, [&] {
        check("cuEventCreate", call(create, &event, 0));
        check("cuEventDestroy", call(destroy, event));
    });
    void* allocate = symbol(driver, "cuMemAlloc_v2");
    void* free_memory = symbol(driver, "cuMemFree_v2");
    measure("cuMemAlloc + cuMemFree", turns, [&] {
        check("cuMemAlloc", call(allocate, &memory, BYTES));
        check("cuMemFree", call(free_memory, memory));
    });
}

}  // namespace

int main(int count, char** arguments) {
    const int turns = count > 1 ? atoi(arguments[1]) : 3000;
    measure_runtime(turns);
    measure_driver(turns);
    return 0;
}
