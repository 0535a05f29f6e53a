// What the shim adds to a driver call, in nanoseconds, measured over a driver that does nothing.
//
//     hot_call SHIM DRIVER TRACE_DIRECTORY
//
// One child process per mode; within it the bare call and the call through the shim alternate, and the best round of
// each counts. The bare call's cost is subtracted. Prints one line per call, and how the cost of a recorded launch
// grows with threads.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace {

constexpr int ROUNDS = 30;
constexpr int CALLS = 20000;

void* shim;
void* driver;

double now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <class Function>
Function function(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

template <class Body>
double round_ns(Body body) {
    const double start = now_ns();
    for (int i = 0; i < CALLS; i++) body();
    return (now_ns() - start) / CALLS;
}

template <class Function, class... Arguments>
void measure(const char* name, Arguments... arguments) {
    const Function bare = function<Function>(driver, name), wrapped = function<Function>(shim, name);
    double best_bare = 1e9, best_wrapped = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        best_bare = std::min(best_bare, round_ns([&] { bare(arguments...); }));
        best_wrapped = std::min(best_wrapped, round_ns([&] { wrapped(arguments...); }));
    }
    printf("  %-22s bare %5.1f   added %6.1f\n", name, best_bare, best_wrapped - best_bare);
}

using Launch = uint32_t (*)(uint64_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint64_t,
                            void**, void**);

struct Objects {
    uint64_t context, stream, event, module, kernel, memory, pooled;
};

Objects create_objects() {
    Objects o = {};
    using Make1 = uint32_t (*)(uint64_t*, uint64_t);
    function<uint32_t (*)(uint32_t)>(shim, "cuInit")(0);
    function<uint32_t (*)(uint64_t*, uint32_t, int32_t)>(shim, "cuCtxCreate_v2")(&o.context, 0, 0);
    function<Make1>(shim, "cuStreamCreate")(&o.stream, 1);
    function<Make1>(shim, "cuEventCreate")(&o.event, 0);
    function<Make1>(shim, "cuModuleLoadData")(&o.module, reinterpret_cast<uint64_t>("image"));
    function<uint32_t (*)(uint64_t*, uint64_t, const char*)>(shim, "cuModuleGetFunction")(&o.kernel, o.module,
                                                                                          "kernel");
    function<Make1>(shim, "cuMemAlloc_v2")(&o.memory, 1024);
    return o;
}

void launch_on_threads(const Objects& o, unsigned threads) {
    const Launch launch = function<Launch>(shim, "cuLaunchKernel");
    std::vector<std::thread> running;
    const double start = now_ns();
    for (unsigned i = 0; i < threads; i++)
        running.emplace_back([&] {
            for (int n = 0; n < 10 * CALLS; n++) launch(o.kernel, 1, 1, 1, 1, 1, 1, 0, o.stream, nullptr, nullptr);
        });
    for (std::thread& thread : running) thread.join();
    const unsigned cores = std::max(1u, std::min(threads, std::thread::hardware_concurrency()));
    printf("  cuLaunchKernel on %2u threads: %5.1f ns of a core each\n", threads,
           (now_ns() - start) * cores / (10.0 * CALLS * threads));
}

void measure_all() {
    const Objects o = create_objects();
    void* argument = nullptr;
    void* arguments[] = {&argument, &argument, &argument};
    uint64_t out = 0;
    measure<uint32_t (*)(uint64_t*)>("cuCtxGetCurrent", &out);
    measure<uint32_t (*)(uint64_t, uint64_t*)>("cuStreamIsCapturing", o.stream, &out);
    measure<Launch>("cuLaunchKernel", o.kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, o.stream, arguments,
                    static_cast<void**>(nullptr));
    measure<uint32_t (*)(uint64_t, uint64_t, uint64_t, uint64_t)>("cuMemcpyAsync", o.memory, o.memory + 512, 64,
                                                                  o.stream);
    measure<uint32_t (*)(uint64_t, uint64_t)>("cuEventRecord", o.event, o.stream);
    measure<uint32_t (*)(uint64_t)>("cuStreamSynchronize", o.stream);
    function<uint32_t (*)(uint64_t*, uint64_t, uint64_t)>(shim, "cuMemAllocAsync")(const_cast<uint64_t*>(&o.pooled),
                                                                                   1024, o.stream);
    printf("  once stream-ordered memory exists:\n");
    measure<Launch>("cuLaunchKernel", o.kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, o.stream, arguments,
                    static_cast<void**>(nullptr));
    measure<uint32_t (*)(uint64_t, uint64_t, uint64_t, uint64_t)>("cuMemcpyAsync", o.memory, o.memory + 512, 64,
                                                                  o.stream);
    for (const unsigned threads : {1u, 4u, 64u}) launch_on_threads(o, threads);
}

void run(const char* mode, const char* record, const char* trace, char** arguments) {
    printf("%s:\n", mode);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        setenv("CUVET_DRIVER", arguments[2], 1);
        if (record) setenv("CUVET_RECORD", record, 1);
        if (trace) setenv("CUVET_TRACE", trace, 1);
        shim = dlopen(arguments[1], RTLD_NOW);
        driver = dlopen(arguments[2], RTLD_NOW);
        if (!shim || !driver) {
            fprintf(stderr, "%s\n", dlerror());
            _exit(2);
        }
        measure_all();
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status) exit(1);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: hot_call SHIM DRIVER TRACE_DIRECTORY\n");
        return 2;
    }
    run("passing", nullptr, nullptr, arguments);
    run("checked", "lifecycle", arguments[3], arguments);
    run("full", "full", arguments[3], arguments);
}
