from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated


class FunctionNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a function is given the handle of something else, and the call fails or crashes.

    ## Why it is wrong
    The number names no function. The address of a host function, or of a kernel's host stub, is not a
    `CUfunction`.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the function, and pass
    handles with their own types rather than as integers.

    ## Limits
    A number that is no handle at all is not reported: functions may be made in ways that cannot be seen.
    """

    code = "CV614"
    name = "function-never-created"
    severity = "error"
    summary = "the handle of something else is given where a function is wanted"
    help = "initialise the variable, and look at the status of the call that should have made the function"
    kind = Kind.FUNCTION
    outcomes = (400,)
    evidence = """
    documented: This indicates that a resource handle passed to the API call was not valid. Resource handles are opaque
      types like CUstream and CUevent. (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)
    measured: a stale function is refused with CUDA_ERROR_INVALID_HANDLE (use_function_after_unload)
    """
    VALID = """
## created first
function = cu.kernel()
cu.launch(function, 0, 0)

## created by another thread
function = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.kernel())[1])
cu.launch(function, 0, 0)

## C++: a kernel of a library as a function [c++]
void run(const void *image, CUstream stream, void **parameters) {
    CUlibrary library;
    CUkernel kernel;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    cuLibraryGetKernel(&kernel, library, "kernel");
    cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);
    cuStreamSynchronize(stream);
    cuLibraryUnload(library);
}
"""
    INVALID = """
## an object of another kind
other = cu.module()
cu.launch(other, 0, 0)  # error: [function-never-created]

## C++: a module as a function [c++]
void run(const char *path, CUstream stream, void **parameters) {
    CUmodule module;
    cuModuleLoad(&module, path);
    cuLaunchKernel((CUfunction)module, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);  // error: [function-never-created]
    cuModuleUnload(module);
}

## C#: handles as IntPtr [c#]
class Worker {
    [DllImport("nvcuda")] static extern int cuModuleLoadData(out IntPtr module, byte[] image);
    [DllImport("nvcuda")] static extern int cuModuleUnload(IntPtr module);
    [DllImport("nvcuda")] static extern int cuFuncSetAttribute(IntPtr function, int attribute, int value);

    void Run(byte[] image, int shared) {
        Check(cuModuleLoadData(out IntPtr module, image));
        Check(cuFuncSetAttribute(module, 8, shared));  // error: [function-never-created]
        Work(module);
        Check(cuModuleUnload(module));
    }
}
"""
