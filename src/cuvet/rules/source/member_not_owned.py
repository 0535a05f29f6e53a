from cuvet.rules.rule import SourceRule


class SourceMemberNotOwned(SourceRule):
    """
    checks: A class with several members ends one (a stream, an event, a handle) that it never creates, but got from a caller.
    why: The caller created the object and still has it. It uses a destroyed object, or ends it again.
    instead: Leave the object to the caller, or store in a member whether the class owns it.
    limits: Silent about constructors, functions whose names say that they take ownership, and classes with a member that says who owns it.
    """

    code = "CV889"
    severity = "note"
    summary = "a class ends a member that its caller gave it"
    help = "leave the object to the caller, or remember whether it is the class's own"
    evidence = """
    measured: using a destroyed stream crashes (stream_sync_after_destroy, stream_query_after_destroy)
    reported: the end of a library destroyed the stream that the application had given it
      (https://github.com/kokkos/kokkos/commit/adad5fe6d9f4ff7533c4c208d59d578b3a910560)
    """
    VALID = """
## left to the caller [cuda]
class Worker {
  public:
    void initialize(cudaStream_t stream) {
        stream_ = stream;
        cudaMalloc(&scratch_, 1024);
    }
    void finalize() { cudaFree(scratch_); }
  private:
    cudaStream_t stream_ = nullptr;
    void *scratch_ = nullptr;
    int size_ = 0;
    int device_ = 0;
};

## an owner of what it is given [cuda]
class Stream {
  public:
    explicit Stream(cudaStream_t stream) : stream_(stream) {}
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_;
};

## it remembers whose it is [cuda]
class Worker {
  public:
    void initialize(cudaStream_t stream) {
        stream_ = stream;
        owns_stream_ = false;
        cudaMalloc(&scratch_, 1024);
    }
    void finalize() {
        if (owns_stream_)
            cudaStreamDestroy(stream_);
        cudaFree(scratch_);
    }
  private:
    bool owns_stream_ = false;
    cudaStream_t stream_ = nullptr;
    void *scratch_ = nullptr;
    int size_ = 0;
    int device_ = 0;
};
"""
    INVALID = """
## its own or its caller's, and always ended [cuda]
class Octave {
  public:
    void allocate(cudaStream_t stream) {
        if (stream != 0) {
            stream_ = stream;
        } else {
            STREAM_CREATE(&stream_);
        }
        CHECK(cudaMalloc(&levels_, 1024));
    }
    void release() {
        CHECK(cudaStreamDestroy(stream_));  // note: [source-member-not-owned]
        CHECK(cudaFree(levels_));
    }
  private:
    cudaStream_t stream_ = nullptr;
    void *levels_ = nullptr;
    int width_ = 0;
    int height_ = 0;
};

## ended with its own [cuda]
class Worker {
  public:
    void initialize(cudaStream_t stream) {
        stream_ = stream;
        cudaMalloc(&scratch_, 1024);
    }
    void finalize() {
        cudaStreamDestroy(stream_);  // note: [source-member-not-owned]
        cudaFree(scratch_);
    }
  private:
    cudaStream_t stream_ = nullptr;
    void *scratch_ = nullptr;
    int size_ = 0;
    int device_ = 0;
};
"""
