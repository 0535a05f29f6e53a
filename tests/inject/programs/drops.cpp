// Checks some calls and drops others; its way out of an error leaves objects behind.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                                      \
    do {                                                                                                 \
        const cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                                     \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));   \
            return false;                                                                                \
        }                                                                                                \
    } while (0)

static bool work() {
    void *memory = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    std::vector<char> host(1024);
    CHECK(cudaMalloc(&memory, host.size()));
    cudaStreamCreate(&stream);  // used when it was not made
    CHECK(cudaMemcpyAsync(memory, host.data(), host.size(), cudaMemcpyHostToDevice, stream));  // leaves both
    cudaEventCreate(&event);  // used when it was not made
    cudaEventRecord(event, stream);  // dropped
    CHECK(cudaStreamSynchronize(stream));
    cudaEventDestroy(event);  // dropped
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(memory));
    return true;
}

int main() {
    if (!work()) return 1;
    puts("done");
    return 0;
}
