// TURNS turns of six runtime calls on the emulated device, and the microseconds of a turn as JSON.
//
//     cuvet run --device emulated -- runtime_calls TURNS

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

namespace {

constexpr size_t BYTES = 4096;

void* symbol(const char* name) {
    static void* const runtime = dlopen("libcudart.so.13", RTLD_NOW);
    void* found = runtime ? dlsym(runtime, name) : nullptr;
    if (found) return found;
    fprintf(stderr, "runtime_calls: %s\n", dlerror());
    exit(2);
}

template <class... Words>
void call(const char* name, void* function, Words... words) {
    const int status = reinterpret_cast<int (*)(Words...)>(function)(words...);
    if (!status) return;
    fprintf(stderr, "runtime_calls: %s returned %d\n", name, status);
    exit(1);
}

double now_us() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

}  // namespace

int main(int count, char** arguments) {
    const int turns = count > 1 ? atoi(arguments[1]) : 3000;
    void *allocate = symbol("cudaMalloc"), *set = symbol("cudaMemset"), *copy = symbol("cudaMemcpy");
    void *synchronize = symbol("cudaDeviceSynchronize"), *release = symbol("cudaFree");
    static char host[BYTES];
    const auto turn = [&] {
        void* memory = nullptr;
        call("cudaMalloc", allocate, &memory, BYTES);
        call("cudaMemset", set, memory, 1, BYTES);
        call("cudaMemcpy", copy, memory, static_cast<void*>(host), BYTES, 1);
        call("cudaMemcpy", copy, static_cast<void*>(host), memory, BYTES, 2);
        call("cudaDeviceSynchronize", synchronize);
        call("cudaFree", release, memory);
    };
    turn();
    const double start = now_us();
    for (int i = 0; i < turns; i++) turn();
    printf("{\"us\": %.2f}\n", (now_us() - start) / turns);
    return 0;
}
