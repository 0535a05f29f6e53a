// Mistakes over the CUDA runtime, chosen by the first argument; prints what the calls returned.
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

static void finish(cudaStream_t stream) {
    cudaStreamDestroy(stream);
}

static int sum(const int *numbers) {
    return numbers[0] + numbers[1];
}

int main(int argc, char **argv) {
    const char *mistake = argc > 1 ? argv[1] : "";
    cudaStream_t stream;
    cudaEvent_t event;
    int *memory;
    int devices = 0;
    cudaGetDeviceCount(&devices);
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaMalloc(reinterpret_cast<void **>(&memory), 64);
    if (!strcmp(mistake, "devices")) printf("%d\n", devices);
    if (!strcmp(mistake, "stale-stream")) {
        finish(stream);
        printf("%d\n", cudaEventRecord(event, stream));
        return 0;
    }
    if (!strcmp(mistake, "host-access")) return sum(memory);
    if (!strcmp(mistake, "free-twice")) {
        cudaFree(memory);
        printf("%d\n", cudaFree(memory));
        return 0;
    }
    cudaEventRecord(event, stream);
    cudaStreamSynchronize(stream);
    cudaFree(memory);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
    return 0;
}
