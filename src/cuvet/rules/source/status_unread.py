from cuvet.rules.rule import SourceRule


class SourceStatusUnread(SourceRule):
    """
    checks: The status of a call is assigned to a variable that is never read, or that the next statement which names it assigns
      to again.
    why: The program looks as if it checked the call, and does not: an error goes unseen until a later call is blamed for it.
    instead: Hand the status to the check that the program has, before the variable is used again.
    limits: Variables of the function only, and within one block. All such calls of a function are one note.
    """

    code = "CV861"
    severity = "note"
    summary = "the status of a call is assigned and not read"
    help = "read the status before the variable is assigned again"
    evidence = """
    documented: Check for errors after calling any CUDA library interface (NVIDIA CUDA C++ Guidelines for Robust and
      Safety-Critical Programming, CUDA 1.3)
    measured: the launch after a failed cudaMalloc succeeds, and cudaGetLastError returns the older error
      (peek_stale_error)
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
