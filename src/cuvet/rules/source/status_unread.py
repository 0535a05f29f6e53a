from cuvet.rules.rule import SourceRule


class SourceStatusUnread(SourceRule):
    """
    checks: A variable gets the status of a call and is never read, or the next statement that names it assigns to it again.
    why: The program seems to check the call but does not. An error stays unnoticed until a later call is blamed.
    instead: Pass the status to the program's check before the variable is used again.
    limits: Only local variables, within one block. All such calls of a function are one note.
    """

    code = "CV861"
    severity = "note"
    summary = "the status of a call is assigned and not read"
    help = "read the status before the variable is assigned again"
    evidence = """
    documented: Check for errors after calling any CUDA library interface (NVIDIA CUDA C++ Guidelines for Robust and
      Safety-Critical Programming, CUDA 1.3)
    measured: the launch after a failed cudaMalloc succeeds; cudaGetLastError returns its error (peek_stale_error)
    """
    VALID = """
## read each time [cuda]
cudaError_t fill(float *values, int n) {
    cudaError_t status = cudaMemset(values, 0, n);
    if (status != cudaSuccess) return status;
    status = cudaDeviceSynchronize();
    return status;
}

## assigned in one branch [cuda]
cudaError_t fill(float *values, int n, bool wait) {
    cudaError_t status = cudaMemset(values, 0, n);
    if (wait)
        status = cudaDeviceSynchronize();
    return status;
}
"""
    INVALID = """
## of a library [cuda]
void scale(cublasHandle_t handle, int n, const float *factor, float *values) {
    cublasStatus_t status;
    status = cublasSscal(handle, n, factor, values, 1);  // note: [source-status-unread]
    CHECK(cudaDeviceSynchronize());
}

## never read [cuda]
void fill(float *values, int n) {
    cudaError_t status = cudaMemset(values, 0, n);  // note: [source-status-unread]
}

## assigned again [cuda]
cudaError_t fill(float *values, int n) {
    cudaError_t status;
    status = cudaMemset(values, 0, n);  // note: [source-status-unread]
    status = cudaDeviceSynchronize();
    return status;
}
"""
