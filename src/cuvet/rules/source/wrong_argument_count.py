from cuvet.rules.rule import SourceRule


class SourceWrongArgumentCount(SourceRule):
    """
    checks: A CUDA function gets more or fewer arguments than it takes in the selected release (``--cuda``; otherwise in any known release).
    why: The program does not compile.
    instead: Pass the arguments that the header names.
    limits: Knows the defaults and overloads of C++. Silent about calls with macros in their arguments, calls under a condition, and
      functions that a file of the same run declares.
    """

    code = "CV865"
    severity = "warning"
    summary = "a function gets more or fewer arguments than it takes"
    help = "pass the arguments that the header names"
    evidence = """
    documented: the parameters of all functions, with the default arguments and overloads of C++ (cuda.h,
      cuda_runtime_api.h and cuda_runtime.h of CUDA 12.9 and 13.5)
    """
    VALID = """
## defaults of C++ [cuda]
void fetch(float *values, const float *memory, size_t bytes, cudaEvent_t event, cudaStream_t stream) {
    CHECK(cudaStreamWaitEvent(stream, event));
    CHECK(cudaMemcpyAsync(values, memory, bytes, cudaMemcpyDeviceToHost));
}

## the function of a namespace [cuda]
void make(void **memory, size_t bytes) {
    CHECK(pool::cudaMallocAsync(memory, bytes));
}

## as 12.9 and as 13.0 have it [cuda]
void move(void *memory, size_t bytes, int device, cudaMemLocation there, cudaStream_t stream) {
    CHECK(cudaMemPrefetchAsync(memory, bytes, device, stream));
    CHECK(cudaMemPrefetchAsync(memory, bytes, there, 0, stream));
}
"""
    INVALID = """
## CUDA's own [cuda]
void make(void **memory, size_t bytes) {
    CHECK(::cudaMallocAsync(memory, bytes));  // warning: [source-wrong-argument-count]
}

## the stream is missing [cuda]
void end(float *memory) {
    CHECK(cudaFreeAsync(memory));  // warning: [source-wrong-argument-count]
}
"""
