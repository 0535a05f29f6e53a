from cuvet.rules.rule import SourceRule


class SourceKeptAfterEnd(SourceRule):
    """
    checks: One function creates the object of a global variable only if the variable is NULL. Another ends it and leaves the variable.
    why: The variable keeps the ended object. The next call of the first function creates nothing, so the program uses freed memory or a
      destroyed handle. The next call of the second function ends the object twice.
    instead: Set the variable to NULL where it is ended.
    limits: Harmless in a program that starts and stops once.
    """

    code = "CV872"
    severity = "warning"
    summary = "a global keeps an object that was ended, and is only made if NULL"
    help = "set the variable to NULL after the end"
    evidence = """
    measured: a second free returns CUDA_ERROR_INVALID_VALUE (free_twice)
    documented: cudaFree: if it has already been called for the pointer before, an error is returned; if the pointer is
      0, no operation is performed (CUDA Runtime API, Memory Management, cudaFree)
    reported: buffers were freed twice when the library was shut down twice
      (https://github.com/lattice/quda/commit/981e1bfee7)
    """
    VALID = """
## set to NULL [cuda]
static float *buffer;
void start() {
    if (!buffer) CHECK(cudaMalloc(&buffer, 1024));
}
void stop() {
    if (buffer) CHECK(cudaFree(buffer));
    buffer = NULL;
}

## set to NULL by a function that does not call CUDA [cuda]
static float *buffer;
void start() {
    if (buffer == NULL) CHECK(cudaMalloc(&buffer, 1024));
}
void stop() { CHECK(cudaFree(buffer)); }
void forget() { buffer = NULL; }

## always made anew [cuda]
static float *buffer;
void start() { CHECK(cudaMalloc(&buffer, 1024)); }
void stop() { CHECK(cudaFree(buffer)); }
"""
    INVALID = """
## memory [cuda]
static float *buffer;
void start() {
    if (!buffer) CHECK(cudaMalloc(&buffer, 1024));
}
void stop() {
    if (buffer) CHECK(cudaFree(buffer));  // warning: [source-kept-after-end]
}

## a stream, compared with NULL [cuda]
static cudaStream_t stream = NULL;
cudaStream_t get() {
    if (stream == NULL) { CHECK(cudaStreamCreate(&stream)); }
    return stream;
}
void stop() {
    CHECK(cudaStreamDestroy(stream));  // warning: [source-kept-after-end]
}
"""
