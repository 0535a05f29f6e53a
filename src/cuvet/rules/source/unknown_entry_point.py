from cuvet.rules.rule import SourceRule


class SourceUnknownEntryPoint(SourceRule):
    """
    checks: A call names a function that neither CUDA nor a file of the run declares. Its name differs from that of a CUDA function by
      one or two letters, by the order of its words, or by the other API's prefix (``cudaCreateContext`` for ``cuCtxCreate``).
    why: The program does not compile, or, in C, does not link.
    instead: Use the function that the finding names.
    limits: Programs have own functions named ``cudaSomething``, so only likely misspellings are found. They are reported only
      if the file includes nothing but headers of CUDA, standard libraries and files of the same run, and none of these
      mentions the name except in a call. Silent about calls under a condition.
    """

    code = "CV864"
    severity = "warning"
    summary = "a call names a function that CUDA does not have"
    help = "call the function that the finding names"
    evidence = """
    documented: the names of all functions (cuda.h, cuda_runtime_api.h and cuda_runtime.h of CUDA 12.9 and 13.5)
    """
    VALID = """
## a template of the headers [cuda]
void configure(int *blocks, int *threads) {
    CHECK(cudaOccupancyMaxPotentialBlockSize(blocks, threads, kernel, 0, 0));
}

## the program's own, declared elsewhere [cuda]
void make(CUdevice *device) {
    CHECK(cuInit_f(0));
    CHECK(cuDeviceGet_f(device, 0));
}

## the program's own, whose words are those of a function of CUDA [cuda]
#include "contexts.h"
void make(CUcontext *context) {
    CHECK(cudaCreateContext(context));
}

## the program's own [cuda]
cudaError_t cudaMallocs(void **memory, size_t bytes);
void make(float **values, size_t bytes) {
    CHECK(cudaMallocs((void **)values, bytes));
}
"""
    INVALID = """
## letters exchanged [cuda]
void end(cudaStream_t stream) {
    CHECK(cudaStreamDestory(stream));  // warning: [source-unknown-entry-point]
}

## after a comment, with the words in another order [cuda]
#include <cuda.h>
void make(CUcontext *context, CUdevice device) {
    // make a context
    CHECK(cudaCreateContext(context, 0, device));  // warning: [source-unknown-entry-point]
}

## another tense [cuda]
void end(cudaStream_t stream) {
    CHECK(cudaStreamSynchronise(stream));  // warning: [source-unknown-entry-point]
}

## Python [python cudart]
def check(result):
    if result[0] != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(result[0])
    return result[1] if len(result) == 2 else None

def end(stream):
    check(cudart.cudaStreamDestory(stream))  # warning: [source-unknown-entry-point]

## C#: declared under a name that the driver does not export [c#]
static class Native {
    [DllImport("nvcuda")] static extern int cuStreamDestory(IntPtr stream);  // warning: [source-unknown-entry-point]
}
"""
