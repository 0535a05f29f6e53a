// Two workers by fork with different tasks: the first exits at its error (objects left to the system), the second
// returns from main.
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#define CHECK(x)                                                                        \
    do {                                                                                \
        cudaError_t s_ = (x);                                                           \
        if (s_) {                                                                       \
            fprintf(stderr, "%d: %s: %s\n", (int)getpid(), #x, cudaGetErrorString(s_)); \
            exit(3);                                                                    \
        }                                                                               \
    } while (0)
static int upload() {
    void *a, *b;
    char h[64] = {};
    CHECK(cudaMalloc(&a, 64));
    CHECK(cudaMalloc(&b, 64));
    CHECK(cudaMemcpy(a, h, 64, cudaMemcpyHostToDevice));
    CHECK(cudaFree(b));
    CHECK(cudaFree(a));
    return 0;
}
static int zero() {
    void* a;
    CHECK(cudaMallocManaged(&a, 64, cudaMemAttachGlobal));
    CHECK(cudaMemset(a, 0, 64));
    CHECK(cudaFree(a));
    return 0;
}
int main() {
    pid_t one = fork();
    if (!one) return upload();
    int s1, s2;
    waitpid(one, &s1, 0);
    pid_t two = fork();
    if (!two) return zero();
    waitpid(two, &s2, 0);
    if (s1 || s2) {
        fprintf(stderr, "a worker failed: %d %d\n", s1, s2);
        return 1;
    }
    puts("ok");
    return 0;
}
