// One mistake and what follows from it, chosen by the first argument. The second says how often it is made.
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

static void capture(cudaStream_t stream, const char *mistake) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    void *memory;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    if (!strcmp(mistake, "wait") || !strcmp(mistake, "launch")) cudaStreamSynchronize(stream);
    if (!strcmp(mistake, "allocate")) cudaMalloc(&memory, 64);
    if (!strcmp(mistake, "work")) {
        cudaStreamSynchronize(stream);
        cudaStreamGetPriority(stream, nullptr);
    }
    cudaStreamEndCapture(stream, &graph);
    if (!strcmp(mistake, "launch")) {
        cudaGraphInstantiate(&executable, graph, 0);
        cudaGraphLaunch(executable, stream);
    }
}

static void pool(cudaStream_t first, cudaStream_t second) {
    void *memory;
    cudaMallocAsync(&memory, 4096, first);
    cudaMemsetAsync(memory, 0, 4096, second);
    cudaFreeAsync(memory, first);
    cudaDeviceSynchronize();
}

static void free_alone(cudaStream_t first, cudaStream_t second) {
    void *memory;
    cudaMallocAsync(&memory, 4096, first);
    cudaMemsetAsync(memory, 0, 4096, first);
    cudaFreeAsync(memory, second);
    cudaDeviceSynchronize();
}

int main(int argc, char **argv) {
    const char *mistake = argc > 1 ? argv[1] : "";
    const int times = argc > 2 ? atoi(argv[2]) : 1;
    cudaStream_t first, second;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    for (int i = 0; i < times; i++) {
        if (!strcmp(mistake, "pool"))
            pool(first, second);
        else if (!strcmp(mistake, "free"))
            free_alone(first, second);
        else
            capture(first, mistake);
    }
    return 0;
}
