// A general error message with a hint that names a function.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
static void die(cudaError_t s, const char* what) {
    fprintf(stderr,
            "fatal: %s: %s\n       (hint: is CUDA_VISIBLE_DEVICES set as cudaSetDevice expects it? run with --check)\n",
            what, cudaGetErrorString(s));
    exit(EXIT_FAILURE);
}
int main() {
    void* d;
    cudaError_t s;
    char h[64] = {};
    if ((s = cudaSetDevice(0))) die(s, "choosing the device");
    if ((s = cudaMalloc(&d, 64))) die(s, "out of device memory?");
    if ((s = cudaMemcpy(d, h, 64, cudaMemcpyHostToDevice))) die(s, "upload");
    if ((s = cudaFree(d))) die(s, "clean up");
    puts("ok");
}
