// Batch with a lot of log; one line tells of the item that failed. It goes on with the next item.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
int main() {
    void* d;
    char h[64] = {};
    cudaError_t s = cudaMalloc(&d, 64);
    if (s) {
        printf("cannot allocate: %s\n", cudaGetErrorString(s));
        return 1;
    }
    for (int i = 0; i < 12000; ++i) {
        if (i == 6000) {
            s = cudaMemcpy(d, h, 64, cudaMemcpyHostToDevice);
            if (s) printf("item %d: upload failed: %s; it is left out\n", i, cudaGetErrorString(s));
        }
        printf("item %d: parsed, 1234 rows, schema v2, nothing to do for it on this node\n", i);
    }
    s = cudaFree(d);
    if (s) {
        printf("cannot free: %s\n", cudaGetErrorString(s));
        return 1;
    }
    return 0;
}
