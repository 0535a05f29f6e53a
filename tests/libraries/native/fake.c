// Stands for one of NVIDIA's libraries. Each copy is compiled with its own TAG; ECHO is where it writes what it was given.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { char bytes[128]; } unique_id;
static int next, status;
int FAKE(copy)(void) { return TAG; }
void FAKE(answer)(int number) { status = number; }
void (*FAKE(inside))(void);
static uint64_t make(uint64_t *handle) { return *handle = TAG * 0x100000 + 0x100 * ++next, 0; }
static int work(void) {
    if (FAKE(inside)) FAKE(inside)();
    return status;
}

int cublasCreate_v2(uint64_t *handle) { return status ? status : make(handle); }
int cublasDestroy_v2(uint64_t handle) { next = 0; return work(); }
int cublasSetStream_v2(uint64_t handle, uint64_t stream) { return status; }
int cublasSetWorkspace_v2(uint64_t handle, uint64_t memory, uint64_t bytes) { return status; }
int cublasSetMathMode(uint64_t handle, int mode) { return TAG * 1000 + mode; }
int cublasSscal_v2(uint64_t handle, int n, void *alpha, void *x, int step) { return work(); }
int cublasSgemm_v2(uint64_t handle, int a, int b, int m, int n, int k, float *alpha, void *A, int lda, void *B, int ldb, float *beta,
                   void *C, int ldc) {
    printf("%d: %d %d %d %d %d %g %p %d %p %d %g %p %d\n", TAG, a, b, m, n, k, *alpha, A, lda, B, ldb, *beta, C, ldc);
    return work();
}
int cublasLtMatmulDescCreate(uint64_t *handle, int type, int scale) { return make(handle); }
int cublasLtMatmulDescDestroy(uint64_t handle) { return status ? status : (next = 0); }
int cublasLtMatmulDescSetAttribute(uint64_t handle, int which, void *value, size_t bytes) { return status; }
int cublasLtCreate(uint64_t *handle) { return make(handle); }
int cublasLtMatmul(uint64_t light, uint64_t desc, void *alpha, void *A, uint64_t a, void *B, uint64_t b, void *beta, void *C, uint64_t c,
                   void *D, uint64_t d, void *algo, uint64_t workspace, size_t bytes, uint64_t stream) {
    return status;
}
int curandCreateGenerator(uint64_t *handle, int type) { return make(handle); }
int curandGenerateNormalDouble(uint64_t handle, double *at, size_t count, double mean, double deviation) {
    printf("%d: %zu %g %g\n", TAG, count, mean, deviation);
    return status;
}
int curandGenerateLogNormal(uint64_t handle, float *at, size_t count, float mean, float deviation) {
    printf("%d: %zu %g %g\n", TAG, count, mean, deviation);
    return status;
}
int cudnnCreate(uint64_t *handle) { return make(handle); }
int cudnnCreateTensorDescriptor(uint64_t *handle) { return make(handle); }
int cudnnDestroyTensorDescriptor(uint64_t handle) { return status; }
int cudnnBackendCreateDescriptor(int type, uint64_t *handle) { return make(handle); }
int cudnnBackendDestroyDescriptor(uint64_t handle) { return status; }
int cudnnBackendExecute(uint64_t handle, uint64_t plan, uint64_t pack) { return status; }
int cudnnBatchNormalizationForwardTrainingEx(uint64_t handle, int mode, int operations, void *alpha, void *beta, uint64_t x_descriptor,
                                             void *x, uint64_t z_descriptor, void *z, uint64_t y_descriptor, void *y,
                                             uint64_t descriptor, void *scale, void *bias, double factor, void *mean, void *variance,
                                             double epsilon, void *saved_mean, void *saved_variance, uint64_t activation,
                                             uint64_t workspace, size_t bytes, void *reserve, size_t reserve_bytes) {
    return status;
}
int ncclCommInitRank(uint64_t *handle, int ranks, unique_id id, int rank) {
    printf("%d: %d %s %d\n", TAG, ranks, id.bytes, rank);
    return make(handle);
}
int ncclCommDestroy(uint64_t handle) { return status; }
