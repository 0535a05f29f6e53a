// Says what it does instead: a plain copy, which it makes in any case.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <vector>
int main() {
    std::vector<char> src(4096, 1);
    void* d = nullptr;
    cudaError_t s;
    int rc = 0;
    if ((s = cudaMalloc(&d, 4096))) {
        fprintf(stderr, "no device memory: %s\n", cudaGetErrorString(s));
        return 1;
    }
    cudaError_t pin = cudaHostRegister(src.data(), 4096, cudaHostRegisterDefault);
    if (pin) {
        fprintf(stderr, "warning: host buffer not pinned (%s), cudaMemcpy will be slower\n", cudaGetErrorString(pin));
        (void)cudaGetLastError();
    }
    if ((s = cudaMemcpy(d, src.data(), 4096, cudaMemcpyHostToDevice))) {
        fprintf(stderr, "upload: %s\n", cudaGetErrorString(s));
        rc = 1;
    }
    if (!pin && (s = cudaHostUnregister(src.data()))) {
        fprintf(stderr, "unpin: %s\n", cudaGetErrorString(s));
        rc = 1;
    }
    if ((s = cudaFree(d))) {
        fprintf(stderr, "free: %s\n", cudaGetErrorString(s));
        rc = 1;
    }
    if (!rc) puts("ok");
    return rc;
}
