from __future__ import annotations

from cuvet.rules.evidence import documented, measured, reported
from cuvet.rules.sources import Source, SourceRule


class SourceResetInLibrary(SourceRule):
    """
    ## What it checks
    A function of a library resets the device with ``cudaDeviceReset`` or ``cuDevicePrimaryCtxReset``: a function of a class, one that a
    shared library exports, or one in a file that is loaded into programs of others (an extension of Python or PyTorch, of Java, MATLAB,
    R or Node.js, as its headers tell).

    ## Why it is wrong
    The primary context belongs to the whole process. A reset takes away all memory, streams and events on the device, also
    those of other objects, libraries and threads, which then use what is gone.

    ## Use instead
    End what the library made itself, and leave the reset to ``main``, if it is wanted at all: the end of the process gives
    everything back.

    ## Limits
    A class that stands for the whole application may do so on purpose. Tests, files that have a ``main``, functions that are
    called ``reset``, and functions of no class that end the process afterwards are left out. In C# and Python only what ends an object
    is looked at. Other functions of libraries are not told from those of programs.
    """

    code = "CV870"
    name = "source-reset-in-library"
    severity = "warning"
    summary = "a library resets the device, which others use too"
    help = "end what was made here, and leave the reset to main"
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
        reported(
            "a Python package reset the device, and left PyTorch in the same process in a broken state",
            "https://github.com/fangq/mcx/pull/188",
        ),
        reported(
            "PyTorch crashes when its program has reset the device",
            "https://github.com/pytorch/pytorch/issues/27970",
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
            "a function of a program, as far as one can see",
            """
// not part of the public GPU_API
void shutdown(float *memory) {
    CHECK(cudaFree(memory));
    CHECK(cudaDeviceReset());
}
""",
        ),
        Source(
            "exported to be asked for",
            """
extern "C" __declspec(dllexport) int DllResetDevice() {
    return cudaDeviceReset();
}
""",
        ),
        Source(
            "the process ends anyway",
            """
#include <torch/extension.h>
void fail(cudaError_t status) {
    fprintf(stderr, "%s", cudaGetErrorString(status));
    cudaDeviceReset();
    exit(EXIT_FAILURE);
}
""",
        ),
        Source(
            "a program that runs Python",
            """
#include <Python.h>
void run(const char *script) {
    Py_Initialize();
    PyRun_SimpleString(script);
    Py_Finalize();
    CHECK(cudaDeviceReset());
}
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
    ~Flow() { cudaDeviceReset(); }  // warning: [source-reset-in-library]
};
""",
        ),
        Source(
            "in an extension of PyTorch",
            """
#include <torch/extension.h>
torch::Tensor scale(torch::Tensor values) {
    work<<<1, 1>>>(values.data_ptr<float>());
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceReset());  // warning: [source-reset-in-library]
    return values;
}
""",
        ),
        Source(
            "exported by a shared library",
            """
extern "C" __declspec(dllexport) int multiply(const float *values, size_t bytes) {
    float *memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemcpy(memory, values, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaFree(memory));
    return cudaDeviceReset();  // warning: [source-reset-in-library]
}
""",
        ),
        Source(
            "exported by a macro",
            """
extern "C" {
SOLVER_EXPORT int solve() {
    work<<<1, 1>>>();
    CHECK(cudaGetLastError());
    return cudaDeviceReset();  // warning: [source-reset-in-library]
}
}
""",
        ),
        Source(
            "visible outside of it",
            """
__attribute__((visibility("default"))) void finish() {
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());  // warning: [source-reset-in-library]
}
""",
        ),
        Source(
            "C#: when it is disposed",
            """
sealed class Flow : IDisposable {
    CUdevice device;
    public void Dispose() {
        Check(cuDevicePrimaryCtxReset_v2(device));  // warning: [source-reset-in-library]
    }
}
""",
            language="c#",
        ),
    )
