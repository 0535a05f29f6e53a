// Market feed process: fills a ring in device memory and shares it with analysers.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include "feed_wire.h"

__global__ void synth(float* px, int n, float base, unsigned tick) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) px[i] = base + 0.01f * ((i * 2654435761u + tick) >> 24);
}

static void chk(cudaError_t e, const char* w) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "feed: %s: %s\n", w, cudaGetErrorString(e));
    std::exit(1);
}

int main() {
    float* px = nullptr;
    chk(cudaSetDevice(0), "device");
    chk(cudaMalloc(&px, FEED_N * sizeof(float)), "malloc");

    FeedHello hello{};
    hello.count = FEED_N;
    chk(cudaIpcGetMemHandle(&hello.mem, px), "ipc handle");

    for (unsigned tick = 0; tick < FEED_TICKS; ++tick) {
        synth<<<(FEED_N + 255) / 256, 256>>>(px, FEED_N, 100.f, tick);
        chk(cudaGetLastError(), "synth");
        chk(cudaDeviceSynchronize(), "sync");
        hello.tick = tick;
        // stdout goes to the analyser, stdin is its acknowledgement
        if (write(STDOUT_FILENO, &hello, sizeof hello) != (ssize_t)sizeof hello) break;
        char ack;
        if (read(STDIN_FILENO, &ack, 1) != 1) break;
    }
    // the analyser unmaps on end of file and hangs up
    close(STDOUT_FILENO);
    char c;
    while (read(STDIN_FILENO, &c, 1) > 0) {
    }
    chk(cudaFree(px), "free");
    return 0;
}
