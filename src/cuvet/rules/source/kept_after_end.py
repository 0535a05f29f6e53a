from cuvet.rules.rule import SourceRule


class SourceKeptAfterEnd(SourceRule):
    """
    checks: One function creates the object of a global variable only if the variable is NULL. Another ends it and leaves the variable. Or a
      method ends a member that the constructor made and leaves it, and the destructor ends it, too.
    why: The variable keeps the ended object. The next call of the first function creates nothing, so the program uses freed memory or a
      destroyed handle. The next call of the second function, or the destructor, ends the object twice.
    instead: Set the variable to NULL where it is ended, and ask for it in the destructor.
    limits: For a global, harmless in a program that starts and stops once. Silent about members that anything else sets or makes, and where
      the destructor asks for another member.
    """

    code = "CV872"
    severity = "warning"
    summary = "a variable keeps an object that was ended, and is asked for it again"
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

## the method sets the member to NULL [cuda]
class Lane {
  public:
    Lane() { CHECK(cudaStreamCreate(&stream_)); }
    Lane(const Lane &) = delete;
    void close() {
        CHECK(cudaStreamDestroy(stream_));
        stream_ = nullptr;
    }
    ~Lane() { if (stream_) cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_ = nullptr;
};

## the method says that it was called [cuda]
class Lane {
  public:
    Lane() { CHECK(cudaStreamCreate(&stream_)); }
    Lane(const Lane &) = delete;
    void close() {
        CHECK(cudaStreamDestroy(stream_));
        closed_ = true;
    }
    ~Lane() {
        if (closed_) return;
        cudaStreamDestroy(stream_);
    }
  private:
    cudaStream_t stream_ = nullptr;
    bool closed_ = false;
};

## the method cleans up where the constructor fails [cuda]
class Lane {
  public:
    Lane() {
        CHECK(cudaStreamCreate(&stream_));
        if (cudaMalloc(&values_, 64) != cudaSuccess) {
            undo();
            throw 1;
        }
    }
    Lane(const Lane &) = delete;
    ~Lane() {
        cudaFree(values_);
        cudaStreamDestroy(stream_);
    }
  private:
    void undo() { cudaStreamDestroy(stream_); }
    cudaStream_t stream_ = nullptr;
    float *values_ = nullptr;
};
"""
    INVALID = """
## by a method and by the destructor [cuda]
class Lane {
  public:
    Lane() { CHECK(cudaStreamCreate(&stream_)); }
    Lane(const Lane &) = delete;
    void close() {
        CHECK(cudaStreamDestroy(stream_));  // warning: [source-kept-after-end]
    }
    ~Lane() { if (stream_) cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_ = nullptr;
};

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
