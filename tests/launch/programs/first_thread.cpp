// The first thread ends, and another one goes on (POSIX, pthread_exit): it copies, and uses a stream that it has
// destroyed.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_t first;

static void* go_on(void*) {
    char there[8] = "here", back[8] = "";
    void* memory;
    cudaStream_t stream;
    pthread_join(first, nullptr);
    cudaMalloc(&memory, sizeof there);
    cudaMemcpy(memory, there, sizeof there, cudaMemcpyHostToDevice);
    cudaMemcpy(back, memory, sizeof back, cudaMemcpyDeviceToHost);
    cudaStreamCreate(&stream);
    cudaStreamDestroy(stream);
    printf("%s %d\n", back, cudaStreamSynchronize(stream));
    exit(0);
}

int main() {
    pthread_t other;
    first = pthread_self();
    pthread_create(&other, nullptr, go_on, nullptr);
    pthread_exit(nullptr);
}
