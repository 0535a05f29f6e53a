from cuvet.rules.rule import SourceRule


class SourceRemovedEntryPoint(SourceRule):
    """
    checks: A call names a CUDA function that the selected release (``--cuda``, otherwise the newest known one) does not have any more.
    why: The program does not compile, or does not link, with that release.
    instead: Use the function that the finding names.
    limits: Silent about calls under a condition (``#if CUDART_VERSION < 12000``), and names that a file of the same run declares.
    """

    code = "CV863"
    severity = "warning"
    summary = "a call names a function that CUDA has removed"
    help = "call what replaced it, or compile the call for older releases only"
    evidence = """
    documented: 12.9 has cudaThreadSynchronize and its like, 13.0 has not (cuda_runtime_api.h of CUDA 12.9 and 13.0)
    reported: texture references were removed in 12.0, cudaConfigureCall and cudaSetupArgument in 10.1
      (https://github.com/ROCm/HIPIFY/blob/amd-staging/docs/tables/CUDA_Runtime_API_functions_supported_by_HIP.md)
    """
    VALID = """
## for older releases only [cuda]
void wait() {
#if CUDART_VERSION < 13000
    CHECK(cudaThreadSynchronize());
#else
    CHECK(cudaDeviceSynchronize());
#endif
}

## the program's own [cuda]
#define cudaThreadSynchronize cudaDeviceSynchronize
void wait() {
    CHECK(cudaThreadSynchronize());
}
"""
    INVALID = """
## removed in 13.0 [cuda]
void wait() {
    CHECK(cudaThreadSynchronize());  // warning: [source-removed-entry-point]
}

## removed in 12.0 [cuda]
texture<float, 1> values;
void bind(float *memory, size_t bytes) {
    CHECK(cudaBindTexture(nullptr, values, memory, bytes));  // warning: [source-removed-entry-point]
}
"""
