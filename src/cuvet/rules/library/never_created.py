from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated


class LibraryNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a library is given a number that no call handed out as one, and the call fails or crashes.

    ## Why it is wrong
    The number names no library. A module (`CUmodule`) is not a library.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the library, and pass
    handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV624"
    name = "library-never-created"
    severity = "error"
    summary = "a library is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the library"
    kind = Kind.LIBRARY
    outcomes = (400, 1)
    evidence = """
    documented: This indicates that a resource handle passed to the API call was not valid. Resource handles are opaque
      types like CUstream and CUevent. (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)
    """
    VALID = """
## created first
library = cu.library()
cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)

## created by another thread
library = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.library())[1])
cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)

## C++: each by its counterpart [c++]
void run(const char *path, const void *image) {
    CUmodule module;
    CUlibrary library;
    cuModuleLoad(&module, path);
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    work(module, library);
    cuLibraryUnload(library);
    cuModuleUnload(module);
}
"""
    INVALID = """
## a number from nowhere
cu.cuLibraryGetKernel(0x1234567000, "trivial")  # error: [library-never-created]

## an object of another kind
other = cu.module()
cu.cuLibraryGetKernel(other, "trivial")  # error: [library-never-created]

## C++: a module as a library [c++]
void run(const char *path) {
    CUmodule module;
    CUkernel kernel;
    cuModuleLoad(&module, path);
    cuLibraryGetKernel(&kernel, (CUlibrary)module, "kernel");  // error: [library-never-created]
    launch(kernel);
    cuModuleUnload(module);
}

## C#: handles as IntPtr [c#]
class Worker {
    [DllImport("nvcuda")] static extern int cuModuleLoadData(out IntPtr module, byte[] image);
    [DllImport("nvcuda")] static extern int cuLibraryUnload(IntPtr library);

    void Run(byte[] image) {
        Check(cuModuleLoadData(out IntPtr module, image));
        Work(module);
        Check(cuLibraryUnload(module));  // error: [library-never-created]
    }
}
"""
