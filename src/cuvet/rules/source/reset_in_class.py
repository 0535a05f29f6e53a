from __future__ import annotations

from cuvet.rules.evidence import documented, measured, reported
from cuvet.rules.sources import Source, SourceRule


class SourceResetInClass(SourceRule):
    """
    ## What it checks
    A function of a class resets the device: ``cudaDeviceReset``, or ``cuDevicePrimaryCtxReset``.

    ## Why it is wrong
    The primary context belongs to the whole process. A reset takes away all memory, streams and events on the device, also
    those of other objects, libraries and threads, which then use what is gone.

    ## Use instead
    End what the object made itself, and leave the reset to ``main``, if it is wanted at all: the end of the process gives
    everything back.

    ## Limits
    A class that stands for the whole application may do so on purpose. Tests, files that have a ``main``, and functions that are
    called ``reset`` are left out. In C# and Python only what ends an object is looked at.
    """

    code = "CV870"
    name = "source-reset-in-class"
    severity = "warning"
    summary = "a class resets the device, which others use too"
    help = "end what the object made itself, and leave the reset to main"
    evidence = (
        measured("destroying a stream after the reset crashes the process", "stream_destroy_after_reset"),
        documented(
            "cudaDeviceReset destroys all allocations and resets all state on the current device in the current process",
            "CUDA Runtime API, Device Management, cudaDeviceReset",
        ),
        reported(
            "the cleanup of a library's class reset the application's primary context",
            "https://github.com/opencv/opencv_contrib/commit/abcd4480940590e359f9b5c4fc29a16652e9c9c8",
        ),
    )
    VALID = (
        Source(
            "in main",
            """
int main() {
    work<<<1, 1>>>();
    if (cudaGetLastError() != cudaSuccess)
        return 1;
    cudaDeviceReset();
    return 0;
}
""",
        ),
        Source(
            "ends its own",
            """
class Flow {
  public:
    Flow() { cudaStreamCreate(&stream_); }
    Flow(const Flow &) = delete;
    ~Flow() { cudaStreamDestroy(stream_); }
  private:
    cudaStream_t stream_;
};
""",
        ),
        Source(
            "in a test's fixture",
            """
class Kernels : public ::testing::Test {
  public:
    ~Kernels() { cudaDeviceReset(); }
};
""",
        ),
        Source(
            "asked for by the caller",
            """
class Device {
  public:
    void reset() { cudaDeviceReset(); }
};
""",
        ),
        Source(
            "C#: a function of the application",
            """
static class Renderer {
    public static void Stop(CUdevice device) {
        Check(cuDevicePrimaryCtxReset_v2(device));
    }
}
""",
            language="c#",
        ),
    )
    INVALID = (
        Source(
            "in a destructor",
            """
class Flow {
  public:
    ~Flow() { cudaDeviceReset(); }  // warning: [source-reset-in-class]
};
""",
        ),
        Source(
            "C#: when it is disposed",
            """
sealed class Flow : IDisposable {
    CUdevice device;
    public void Dispose() {
        Check(cuDevicePrimaryCtxReset_v2(device));  // warning: [source-reset-in-class]
    }
}
""",
            language="c#",
        ),
    )
