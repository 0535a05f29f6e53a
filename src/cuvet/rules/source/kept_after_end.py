from cuvet.rules.rule import SourceRule


class SourceKeptAfterEnd(SourceRule):
    """
    checks:
      A global variable is made by one function only where it is NULL, another function ends what it holds, and nothing in the file sets
      it to NULL again.
    why: The variable goes on holding what is gone. When the first function is called again it makes nothing, and whoever uses the variable
      uses freed memory or a destroyed handle; when the second is called again, it ends it twice.
    instead: Set the variable to NULL where it is ended.
    limits: In a program that starts and stops once nothing comes of it.
    """

    code = "CV872"
    severity = "warning"
    summary = "a global keeps what was ended, and is made only where it is NULL"
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
