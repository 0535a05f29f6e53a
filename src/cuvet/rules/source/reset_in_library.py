from cuvet.rules.rule import SourceRule


class SourceResetInLibrary(SourceRule):
    """
    checks: A function calls ``cudaDeviceReset`` or ``cuDevicePrimaryCtxReset``, and belongs to a class, is exported by a shared library, or
      is in a file that other programs load (an extension of Python or PyTorch, of Java, MATLAB, R or Node.js, as its headers show).
    why: The primary context belongs to the whole process. A reset destroys all memory, streams and events on the device, including those of
      other objects, libraries and threads, which then use destroyed objects.
    instead: End what the library created, and leave the reset to ``main``, if it is needed at all: the end of the process frees everything.
    limits: A class for the whole application may reset on purpose. Silent about tests, files with a ``main``, functions called ``reset``,
      and functions of no class that end the process afterwards. In C# and Python, only code that ends an object is examined.
    """

    code = "CV870"
    severity = "note"
    summary = "a library resets the device, which others use too"
    help = "end what was made here, and leave the reset to main"
    evidence = """
    measured: destroying a stream after the reset crashes the process (stream_destroy_after_reset)
    documented: cudaDeviceReset destroys all allocations and resets all state on the current device in the current
      process (CUDA Runtime API, Device Management, cudaDeviceReset)
    reported: the cleanup of a library's class reset the application's primary context
      (https://github.com/opencv/opencv_contrib/commit/abcd4480940590e359f9b5c4fc29a16652e9c9c8)
    reported: a Python package reset the device, and left PyTorch in the same process in a broken state
      (https://github.com/fangq/mcx/pull/188)
    reported: PyTorch crashes when its program has reset the device (https://github.com/pytorch/pytorch/issues/27970)
    """
    VALID = """
## in main [cuda]
int main() {
    work<<<1, 1>>>();
    if (cudaGetLastError() != cudaSuccess)
        return 1;
    cudaDeviceReset();
    return 0;
}

## in a test's fixture [cuda]
class Kernels : public ::testing::Test {
  public:
    ~Kernels() { cudaDeviceReset(); }
};

## asked for by the caller [cuda]
class Device {
  public:
    void reset() { cudaDeviceReset(); }
};

## a function of a program, as far as one can see [cuda]
// not part of the public GPU_API
void shutdown(float *memory) {
    CHECK(cudaFree(memory));
    CHECK(cudaDeviceReset());
}

## exported to be asked for [cuda]
extern "C" __declspec(dllexport) int DllResetDevice() {
    return cudaDeviceReset();
}

## the process ends anyway [cuda]
#include <torch/extension.h>
void fail(cudaError_t status) {
    fprintf(stderr, "%s", cudaGetErrorString(status));
    cudaDeviceReset();
    exit(EXIT_FAILURE);
}

## a program that runs Python [cuda]
#include <Python.h>
void run(const char *script) {
    Py_Initialize();
    PyRun_SimpleString(script);
    Py_Finalize();
    CHECK(cudaDeviceReset());
}

## C#: a function of the application [c#]
static class Renderer {
    public static void Stop(CUdevice device) {
        Check(cuDevicePrimaryCtxReset_v2(device));
    }
}
"""
    INVALID = """
## in a destructor [cuda]
class Flow {
  public:
    ~Flow() { cudaDeviceReset(); }  // note: [source-reset-in-library]
};

## in an extension of PyTorch [cuda]
#include <torch/extension.h>
torch::Tensor scale(torch::Tensor values) {
    work<<<1, 1>>>(values.data_ptr<float>());
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceReset());  // note: [source-reset-in-library]
    return values;
}

## exported by a shared library [cuda]
extern "C" __declspec(dllexport) int multiply(const float *values, size_t bytes) {
    float *memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemcpy(memory, values, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaFree(memory));
    return cudaDeviceReset();  // note: [source-reset-in-library]
}

## exported by a macro [cuda]
extern "C" {
SOLVER_EXPORT int solve() {
    work<<<1, 1>>>();
    CHECK(cudaGetLastError());
    return cudaDeviceReset();  // note: [source-reset-in-library]
}
}

## visible outside of it [cuda]
__attribute__((visibility("default"))) void finish() {
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());  // note: [source-reset-in-library]
}

## C#: when it is disposed [c#]
sealed class Flow : IDisposable {
    CUdevice device;
    public void Dispose() {
        Check(cuDevicePrimaryCtxReset_v2(device));  // note: [source-reset-in-library]
    }
}
"""
