// Errors after which the program dies although it has said something, or in another process: loud WAY.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "ways.h"

// std::terminate, for the thread was not joined.
static int thread() {
    void* memory = nullptr;
    std::thread other([] {});
    if (cudaMalloc(&memory, 64)) return 1;
    other.join();
    cudaFree(memory);
    return 0;
}

// The C library ends the program.
static int twice() {
    char* host = static_cast<char*>(malloc(100));
    void* memory = nullptr;
    strcpy(host, "host");
    puts(host);
    const bool failed = cudaMalloc(&memory, 64) != cudaSuccess;
    if (failed) fprintf(stderr, "error: cudaMalloc failed\n");
    free(host);
    void (*volatile again)(void*) = free;
    if (failed) again(host);
    cudaFree(memory);
    return 0;
}

// A child dies, and the program ends with an exit code.
static int child() {
    int status = 0;
    if (fork() == 0) {
        int* host = nullptr;
        cudaHostAlloc(reinterpret_cast<void**>(&host), 64, 0);
        *const_cast<volatile int*>(host) = 1;
        cudaFreeHost(host);
        exit(0);
    }
    wait(&status);
    return status ? 1 : 0;
}

int main(int, char** words) {
    static const Way ways[] = {{"thread", thread}, {"twice", twice}, {"child", child}};
    return run_way(ways, words[1]);
}
