// What may be meant, each beside what may not: mild WAY.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "ways.h"

static void check(cudaError_t status) {
    if (status) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}

// main catches no exception.
static int uncaught() {
    void* memory = nullptr;
    check(cudaMalloc(&memory, 64));
    check(cudaFree(memory));
    return 0;
}

// It ends what it has begun before it says so, as Thrust's copies do; or says something else.
static int throws_later(const char* message) {
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, 64);
    cudaDeviceSynchronize();
    if (status) throw std::runtime_error(message ? message : cudaGetErrorString(status));
    return cudaFree(memory) != cudaSuccess;
}
static int throws_it_later() { return throws_later(nullptr); }
static int throws_another_later() { return throws_later("this did not work"); }

// It knows one error only.
static int knows_one() {
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, 64);
    if (status == cudaErrorMemoryAllocation) check(status);
    return 0;
}

// Nobody can catch what leaves a thread.
static int in_thread() {
    std::thread([] { uncaught(); }).join();
    return 0;
}

struct Buffer {
    void* memory = nullptr;
    Buffer() { check(cudaMalloc(&memory, 64)); }
    ~Buffer() { check(cudaFree(memory)); }
};

// Nobody can catch what leaves a destructor.
static int in_destructor() {
    Buffer buffer;
    return 0;
}

static cudaEvent_t recorded() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    check(cudaEventRecord(event));
    return event;
}

// The question only makes the driver begin.
static int asks() {
    cudaEvent_t event = recorded();
    cudaEventQuery(event);
    check(cudaEventSynchronize(event));
    check(cudaEventDestroy(event));
    return 0;
}

// It takes a failure for the end of the work.
static int polls() {
    cudaEvent_t event = recorded();
    while (cudaEventQuery(event) == cudaErrorNotReady) {
    }
    check(cudaEventDestroy(event));
    return 0;
}

static int resets() {
    uncaught();
    cudaDeviceReset();
    return 0;
}

// One check after several calls.
static int checks_once() {
    void* memory[5];
    cudaMalloc(&memory[0], 64);
    cudaMalloc(&memory[1], 64);
    cudaMalloc(&memory[2], 64);
    cudaMalloc(&memory[3], 64);
    cudaMalloc(&memory[4], 64);
    if (cudaError_t status = cudaGetLastError()) {
        fprintf(stderr, "CUDA error: %s at %s:%d\n", cudaGetErrorString(status), __FILE__, __LINE__ - 1);
        exit(1);
    }
    for (void* each : memory) check(cudaFree(each));
    return 0;
}

// Results are no message, and other calls fail for the same reason.
static int writes_results() {
    int place[16] = {}, result = 0;
    int* memory = place;
    cudaMalloc(&memory, 64);
    cudaMemset(memory, 1, 64);
    cudaMemcpy(&result, memory, 4, cudaMemcpyDeviceToHost);
    printf("sum %f\n", result * 1e3);
    return 0;
}

static void write_much(int number) {
    for (int line = 0; line < 60000; line++) printf("%d %d\n", number, line);
}

static int writes_much() {
    void* memory = nullptr;
    cudaMalloc(&memory, 64);
    write_much(0);
    return 0;
}

// What differs is in the middle.
static int writes_other() {
    void* memory = nullptr;
    cudaMalloc(&memory, 64);
    write_much(0);
    write_much(getpid());
    write_much(0);
    return 0;
}

int main(int, char** words) {
    static const Way ways[] = {{"uncaught", uncaught},
                               {"throws_it_later", throws_it_later},
                               {"throws_another_later", throws_another_later},
                               {"knows_one", knows_one},
                               {"in_thread", in_thread},
                               {"in_destructor", in_destructor},
                               {"asks", asks},
                               {"polls", polls},
                               {"resets", resets},
                               {"checks_once", checks_once},
                               {"writes_much", writes_much},
                               {"writes_other", writes_other},
                               {"writes_results", writes_results}};
    return run_way(ways, words[1]);
}
