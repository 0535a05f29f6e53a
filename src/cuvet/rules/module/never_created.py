from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated
from cuvet.rules.rule import CRASH


class ModuleNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a module is given a number that no call handed out as one, and the call fails or crashes.

    ## Why it is wrong
    The number names no module. A library (`CUlibrary`) is not a module; `cuLibraryGetModule` gives its module.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the module, and pass
    handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV604"
    name = "module-never-created"
    severity = "error"
    summary = "a module is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the module"
    kind = Kind.MODULE
    outcomes = (CRASH, 400)
    evidence = """
    measured: a number from nowhere, given to cuModuleGetFunction: SIGSEGV in the driver (module_from_nowhere)
    documented: This indicates that a resource handle passed to the API call was not valid. Resource handles are opaque
      types like CUstream and CUevent. (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)
    measured: a stale module is refused with CUDA_ERROR_INVALID_HANDLE, "module is of wrong type, expected CUmodule"
      (module_garbage)
    """
    VALID = """
## created first
module = cu.module()
cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)

## created by another thread
module = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.module())[1])
cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)

## C++: the module of a library [c++]
void run(const void *image) {
    CUlibrary library;
    CUmodule module;
    CUfunction kernel;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    cuLibraryGetModule(&module, library);
    cuModuleGetFunction(&kernel, module, "kernel");
    launch(kernel);
    cuLibraryUnload(library);
}
"""
    INVALID = """
## a number from nowhere
cu.cuModuleGetFunction(0x1234567000, "trivial")  # error: [module-never-created]

## an object of another kind
other = cu.library()
cu.cuModuleGetFunction(other, "trivial")  # error: [module-never-created]

## C++: a library as a module [c++]
void run(const void *image) {
    CUlibrary library;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    work(library);
    cuModuleUnload((CUmodule)library);  // error: [module-never-created]
}

## C#: handles as IntPtr [c#]
class Worker {
    [DllImport("nvcuda")] static extern int cuLibraryLoadData(out IntPtr library, byte[] code, IntPtr options, IntPtr values,
        uint count, IntPtr libraryOptions, IntPtr libraryValues, uint libraryCount);
    [DllImport("nvcuda")] static extern int cuModuleUnload(IntPtr module);

    void Run(byte[] image) {
        Check(cuLibraryLoadData(out IntPtr library, image, IntPtr.Zero, IntPtr.Zero, 0, IntPtr.Zero, IntPtr.Zero, 0));
        Work(library);
        Check(cuModuleUnload(library));  // error: [module-never-created]
    }
}
"""
