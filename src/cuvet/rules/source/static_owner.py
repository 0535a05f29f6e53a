from __future__ import annotations

from cuvet.rules.evidence import documented, measured, reported
from cuvet.rules.sources import Source, SourceRule


class SourceStaticOwner(SourceRule):
    """
    ## What it checks
    A global object, or a static one of a function, is of a class whose destructor calls CUDA.

    ## Why it is wrong
    It is destroyed after ``main``, when the runtime may have been shut down already: its calls return
    cudaErrorCudartUnloading, and a destructor that throws or exits on errors ends the process.

    ## Use instead
    Make the object in ``main``, or end it explicitly before ``main`` returns; or never destroy it.

    ## Limits
    The class, its destructor and the object have to be in one file.
    """

    code = "CV869"
    name = "source-static-owner"
    severity = "warning"
    summary = "a static object's destructor calls CUDA after main"
    help = "end the object before main returns, or leave it to the end of the process without a destructor"
    evidence = (
        measured("calls from a static object's destructor return cudaErrorCudartUnloading", "exit_static_destructor"),
        documented(
            "Use CUDA after host program initiation and before host program termination",
            "NVIDIA CUDA C++ Guidelines for Robust and Safety-Critical Programming, CUDA 1.1",
        ),
        reported(
            "a static object owned streams and memory, and its destructors ran after main",
            "https://github.com/NVlabs/tiny-cuda-nn/commit/96ff5e4cac7875c9b234daf4cd6914a32c76a947",
        ),
    )
    VALID = (
        Source(
            "in main",
            """
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
int main() {
    Stream stream;
    work<<<1, 1, 0, stream.handle>>>();
    return cudaGetLastError() != cudaSuccess;
}
""",
        ),
        Source(
            "never destroyed",
            """
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
""",
        ),
    )
    INVALID = (
        Source(
            "global",
            """
struct Stream {
    Stream() { CHECK(cudaStreamCreate(&handle)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle;
};
static Stream stream;  // warning: [source-static-owner]
""",
        ),
        Source(
            "static in a function",
            """
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
""",
        ),
    )
