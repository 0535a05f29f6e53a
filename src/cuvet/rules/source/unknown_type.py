from cuvet.rules.rule import SourceRule


class SourceUnknownType(SourceRule):
    """
    checks: A type name looks like CUDA's and does not exist: it is misspelled, or mixes the spellings of the runtime and the driver.
    why: The program does not compile; in Python, the module has no such attribute.
    instead: Use the type that the finding names, if it is meant.
    limits: Programs have own types with such names. In C++ and C, silent if the file includes anything except headers of CUDA, standard
      libraries and files of the same run, and about names that one of these files may declare. Silent under a condition.
    """

    code = "CV873"
    severity = "warning"
    summary = "a type name that CUDA does not have"
    help = "use the type that the finding names"
    evidence = """
    documented: the names of all types (the headers of CUDA 12.9 and 13.5 and of their libraries)
    """
    VALID = """
## types of both APIs and of a library [cuda]
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>
struct Work {
    cudaStream_t stream;
    CUcontext context;
    cublasHandle_t handle;
    std::vector<cudaEvent_t> events;
};

## the program's own [cuda]
#include <cuda_runtime.h>
typedef int cudaDevice_t;
class cudaStream {
    cudaStream_t handle;
};
void use(cudaDevice_t device, cudaStream &stream);

## declared elsewhere, as far as one can see [cuda]
#include <cuda_runtime.h>
#include "device.h"
void use(cudaDevice_t device) {
    CHECK(cudaSetDevice(device));
}

## of another library [cuda]
#include <cublas_v2.h>
cublasStatus_t multiply(cublasMpHandle_t handle, cublasHandle_t local);

## Python: types and their values [python]
from cuda.bindings import driver, runtime as cudart

def flags(kind: driver.CUmemAllocationType) -> cudart.cudaMemcpyKind:
    if kind == driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED:
        return cudart.cudaMemcpyKind.cudaMemcpyHostToDevice
    return cudart.cudaMemcpyKind.cudaMemcpyDefault
"""
    INVALID = """
## the runtime has no contexts [cuda]
#include <cuda.h>
#include <cuda_runtime.h>
void start(CUdevice device) {
    cudaContext_t context;  // warning: [source-unknown-type]
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
}

## letters exchanged [cuda]
#include <cuda_runtime.h>
#include <stdio.h>
struct Work {
    cudaStraem_t stream;  // warning: [source-unknown-type]
};
void end(Work &work) {
    CHECK(cudaStreamSynchronize(work.stream));
}

## the driver's types do not end in _t [cuda]
void end(CUstream_t stream) {  // warning: [source-unknown-type]
    CHECK(cuStreamSynchronize(stream));
}

## of a library [cuda]
#include "cublas_v2.h"
void end(cublasHandel_t handle) {  // warning: [source-unknown-type]
    cublasStatus_t status = cublasDestroy(handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        abort();
}

## Python [python cudart]
def default_stream():
    return cudart.cudaStraem_t(0)  # warning: [source-unknown-type]
"""
