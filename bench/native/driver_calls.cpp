// Calls a driver COUNT times, beneath ten frames, and prints the nanoseconds of a turn as JSON.
//
//     driver_calls LIBRARY WHAT COUNT
//
// LIBRARY is a driver, or cuvet's shim over one. WHAT is `events` or `memory` (a turn makes and ends one), `hot` (a
// turn is two launches, a copy and a question, on live objects), `work` (a launch, a copy, a record of an event and
// a wait for it), `launches` (one, with another number each time) or `live` (a turn makes an event that nothing
// ends). Over a driver that does nothing this needs no GPU; with CUVET_TRACE set the shim writes the recordings that
// the analysis is measured with.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

namespace {

using Make = uint32_t (*)(uint64_t*, uint64_t);
using Launch = uint32_t (*)(uint64_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint64_t,
                            void**, void**);
constexpr int FRAMES = 10;

void* driver;

template <class Function>
Function function(const char* name) {
    void* found = dlsym(driver, name);
    if (!found) {
        fprintf(stderr, "driver_calls: %s\n", dlerror());
        exit(2);
    }
    return reinterpret_cast<Function>(found);
}

struct Calls {
    Make create_event = function<Make>("cuEventCreate");
    uint32_t (*destroy_event)(uint64_t) = function<uint32_t (*)(uint64_t)>("cuEventDestroy_v2");
    uint32_t (*allocate)(uint64_t*, uint64_t,
                         uint64_t) = function<uint32_t (*)(uint64_t*, uint64_t, uint64_t)>("cuMemAllocAsync");
    uint32_t (*release)(uint64_t, uint64_t) = function<uint32_t (*)(uint64_t, uint64_t)>("cuMemFreeAsync");
    uint32_t (*copy)(uint64_t, uint64_t, uint64_t,
                     uint64_t) = function<uint32_t (*)(uint64_t, uint64_t, uint64_t, uint64_t)>("cuMemcpyAsync");
    uint32_t (*record)(uint64_t, uint64_t) = function<uint32_t (*)(uint64_t, uint64_t)>("cuEventRecord");
    uint32_t (*wait)(uint64_t) = function<uint32_t (*)(uint64_t)>("cuEventSynchronize");
    uint32_t (*current)(uint64_t*) = function<uint32_t (*)(uint64_t*)>("cuCtxGetCurrent");
    Launch launch = function<Launch>("cuLaunchKernel");
    uint64_t context = 0, stream = 0, event = 0, module = 0, kernel = 0, memory = 0;
    uint32_t number = 0;
    void* arguments[3] = {&memory, &number, &memory};
};

void prepare(Calls& calls) {
    function<uint32_t (*)(uint32_t)>("cuInit")(0);
    function<uint32_t (*)(uint64_t*, uint32_t, int32_t)>("cuCtxCreate_v2")(&calls.context, 0, 0);
    function<Make>("cuStreamCreate")(&calls.stream, 1);
    calls.create_event(&calls.event, 0);
    function<Make>("cuModuleLoadData")(&calls.module, reinterpret_cast<uint64_t>("image"));
    function<uint32_t (*)(uint64_t*, uint64_t, const char*)>("cuModuleGetFunction")(&calls.kernel, calls.module,
                                                                                    "kernel");
    function<Make>("cuMemAlloc_v2")(&calls.memory, 4096);
}

void turn(Calls& calls, const char* what) {
    uint64_t made = 0;
    if (!strcmp(what, "events")) {
        calls.create_event(&made, 2);
        calls.destroy_event(made);
    } else if (!strcmp(what, "memory")) {
        calls.allocate(&made, 1024, calls.stream);
        calls.release(made, calls.stream);
    } else if (!strcmp(what, "live")) {
        calls.create_event(&made, 2);
    } else if (!strcmp(what, "launches")) {
        calls.number++;
        calls.launch(calls.kernel, 1, 1, 1, 1, 1, 1, 0, calls.stream, calls.arguments, nullptr);
    } else {
        calls.launch(calls.kernel, 1, 1, 1, 1, 1, 1, 0, calls.stream, calls.arguments, nullptr);
        calls.copy(calls.memory, calls.memory + 2048, 64, calls.stream);
        if (!strcmp(what, "hot")) {
            calls.launch(calls.kernel, 1, 1, 1, 1, 1, 1, 0, calls.stream, calls.arguments, nullptr);
            calls.current(&made);
        } else {
            calls.record(calls.event, calls.stream);
            calls.wait(calls.event);
        }
    }
}

double now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

__attribute__((noinline)) double measure(Calls& calls, const char* what, long count, int frames) {
    if (frames) {
        const double result = measure(calls, what, count, frames - 1);
        asm volatile("" ::: "memory");  // so that this is no jump
        return result;
    }
    const double start = now_ns();
    for (long i = 0; i < count; i++) turn(calls, what);
    return (now_ns() - start) / static_cast<double>(count);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4 || !(driver = dlopen(arguments[1], RTLD_NOW))) {
        fprintf(stderr, "usage: driver_calls LIBRARY events|memory|hot|work|launches|live COUNT\n");
        return 2;
    }
    Calls calls;
    prepare(calls);
    printf("{\"ns\": %.2f}\n", measure(calls, arguments[2], atol(arguments[3]), FRAMES));
    return 0;
}
