#include <dlfcn.h>
#include <stdint.h>
typedef struct { char bytes[128]; } unique_id;
int cublasCreate_v2(uint64_t *handle);
int cublasDestroy_v2(uint64_t handle);
int cublasSetStream_v2(uint64_t handle, uint64_t stream);
int cublasSetWorkspace_v2(uint64_t handle, uint64_t memory, uint64_t bytes);
int cublasSetMathMode(uint64_t handle, int mode);
int cublasSscal_v2(uint64_t handle, int n, void *alpha, void *x, int step);
int cublasSgemm_v2(uint64_t handle, int a, int b, int m, int n, int k, float *alpha, void *A, int lda, void *B, int ldb, float *beta,
                   void *C, int ldc);
int cublasLtMatmulDescCreate(uint64_t *handle, int type, int scale);
int cublasLtMatmulDescDestroy(uint64_t handle);
int cublasLtMatmulDescSetAttribute(uint64_t handle, int which, void *value, size_t bytes);
int cublasLtCreate(uint64_t *handle);
int cublasLtMatmul(uint64_t light, uint64_t desc, void *alpha, void *A, uint64_t a, void *B, uint64_t b, void *beta, void *C, uint64_t c,
                   void *D, uint64_t d, void *algo, uint64_t workspace, size_t bytes, uint64_t stream);
int curandCreateGenerator(uint64_t *handle, int type);
int curandGenerateNormalDouble(uint64_t handle, double *at, size_t count, double mean, double deviation);
int curandGenerateLogNormal(uint64_t handle, float *at, size_t count, float mean, float deviation);
int cudnnCreate(uint64_t *handle);
int cudnnCreateTensorDescriptor(uint64_t *handle);
int cudnnDestroyTensorDescriptor(uint64_t handle);
int cudnnBackendCreateDescriptor(int type, uint64_t *handle);
int cudnnBackendDestroyDescriptor(uint64_t handle);
int cudnnBackendExecute(uint64_t handle, uint64_t plan, uint64_t pack);
int cudnnBatchNormalizationForwardTrainingEx(uint64_t handle, int mode, int operations, void *alpha, void *beta, uint64_t x_descriptor,
                                             void *x, uint64_t z_descriptor, void *z, uint64_t y_descriptor, void *y,
                                             uint64_t descriptor, void *scale, void *bias, double factor, void *mean, void *variance,
                                             double epsilon, void *saved_mean, void *saved_variance, uint64_t activation,
                                             uint64_t workspace, size_t bytes, void *reserve, size_t reserve_bytes);
int ncclCommInitRank(uint64_t *handle, int ranks, unique_id id, int rank);
int ncclCommDestroy(uint64_t handle);
extern void (*inside_12)(void);
void answer_12(int number);
typedef int (*function)();
