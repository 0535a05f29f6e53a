from cuvet.rules.rule import SourceRule


class SourceStaticOwner(SourceRule):
    """
    checks: A global, function-static or thread_local object has a destructor that calls CUDA, or a member whose destructor does.
    why: It is destroyed after ``main``, when the runtime may have shut down. Its calls then return cudaErrorCudartUnloading, and a
      destructor that throws or exits on errors ends the process. After a reset of the device its resources are gone.
    instead: Create the object in ``main``, end it explicitly before ``main`` returns, or never destroy it.
    limits: A thread_local object ends with its thread, only that of the main thread after ``main``: a note. Silent about a global pointer
      or container that a function of its file empties (``reset()``, ``clear()``, ``std::move``), which counts as empty at the end. Other
      ways to end the object earlier are not examined.
    """

    code = "CV869"
    severity = "warning"
    summary = "a static object's destructor calls CUDA after main"
    help = "end the object before main returns, or leave it to the end of the process without a destructor"
    evidence = """
    measured: calls from a static object's destructor return cudaErrorCudartUnloading (exit_static_destructor)
    documented: Use CUDA after host program initiation and before host program termination (NVIDIA CUDA C++ Guidelines
      for Robust and Safety-Critical Programming, CUDA 1.1)
    reported: a static object owned streams and memory, and its destructors ran after main
      (https://github.com/NVlabs/tiny-cuda-nn/commit/96ff5e4cac7875c9b234daf4cd6914a32c76a947)
    reported: thread_local events were destroyed after main, when the application may have reset the device
      (https://github.com/rapidsai/cudf/commit/8e1345faef8db194828feacd8f6446b358fc07ae)
    """
    VALID = """
## never destroyed [cuda]
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
Stream &shared() {
    static Stream *stream = new Stream;
    return *stream;
}

## pointers to it [cuda]
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
cudaStream_t shared(int at) {
    static std::vector<Stream *> streams(16);
    if (streams[at] == nullptr)
        streams[at] = new Stream;
    return streams[at]->handle;
}

## emptied at a shutdown [cuda]
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
std::unique_ptr<Stream> copies;
std::shared_ptr<Stream> kernels = nullptr;
void start() {
    copies = std::make_unique<Stream>();
    kernels = std::make_shared<Stream>();
}
void shutdown() {
    copies.reset();
    auto last = std::move(kernels);
}

## a table of pointers to objects, whose class has arguments [cuda]
template <class T, int size> class Buffer {
    T *data_;
public:
    ~Buffer() { cudaFree(data_); }
};
std::unordered_map<Buffer<int, 4> *, int *> buffers;
"""
    INVALID = """
## global [cuda]
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
static Stream stream;  // warning: [source-static-owner]

## static in a function [cuda]
class Stream {
  public:
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
Stream &shared() {
    static Stream stream;  // warning: [source-static-owner]
    return stream;
}

## of a thread [cuda]
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
cudaStream_t shared(int at) {
    thread_local std::vector<std::unique_ptr<Stream>> streams(16);  // note: [source-static-owner]
    if (!streams[at])
        streams[at] = std::make_unique<Stream>();
    return streams[at]->handle;
}

## by its members [cuda]
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
struct Streams {
    std::map<int, std::shared_ptr<Stream>> by_device;
};
Streams &shared() {
    static Streams streams;  // warning: [source-static-owner]
    return streams;
}

## filled, and never emptied [cuda]
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
std::unique_ptr<Stream> copies = nullptr;  // warning: [source-static-owner]
void start() {
    copies.reset(new Stream);
}

## its own clear() keeps what it has [cuda]
struct Buffer {
    Buffer() { CHECK(cudaMalloc(&data, 1 << 20)); }
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(data); }
    void clear() { CHECK(cudaMemset(data, 0, 1 << 20)); }
    float *data;
};
static Buffer buffer;  // warning: [source-static-owner]
void begin() {
    buffer.clear();
}
"""
