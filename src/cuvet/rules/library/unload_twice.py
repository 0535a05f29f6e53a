from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH


class LibraryUnloadTwice(DestroyTwice):
    """
    ## What it checks
    `cuLibraryUnload` is called with a library that was unloaded before.

    ## Why it is wrong
    The first call released the library in every context. The second was measured to die of SIGSEGV inside the
    driver, with no error code.

    ## Use instead
    Give the library one owner, which unloads it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second unloading looks
    like the first of the new object.
    """

    code = "CV622"
    name = "library-unload-twice"
    severity = "error"
    summary = "a library is unloaded twice"
    help = "let one owner unload the library, and clear its handle at that moment"
    kind = Kind.LIBRARY
    outcomes = (CRASH,)
    evidence = """
    measured: SIGSEGV in the driver, no error code (library_unload_twice)
    """
    VALID = """
## unloaded once
library = cu.library()
cu.cuLibraryUnload(library)

## handle issued again
note: the new one often has the old handle value
library = cu.library()
cu.cuLibraryUnload(library)
library = cu.library()
cu.cuLibraryUnload(library)

## C++: unloaded on each way out [c++]
CUresult run(const void *image) {
    CUlibrary library;
    CUkernel kernel;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    CUresult result = cuLibraryGetKernel(&kernel, library, "kernel");
    if (result != CUDA_SUCCESS) {
        cuLibraryUnload(library);
        return result;
    }
    launch(kernel);
    return cuLibraryUnload(library);
}
"""
    INVALID = """
## unloaded twice
library = cu.library()
cu.cuLibraryUnload(library)
cu.cuLibraryUnload(library)  # error: [library-unload-twice]

## unloaded by two threads
library = cu.library()
cu.in_thread(lambda: cu.cuLibraryUnload(library))
cu.cuLibraryUnload(library)  # error: [library-unload-twice]

## C++: on failure and at the end [c++]
CUresult run(const void *image) {
    CUlibrary library;
    CUkernel kernel;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    CUresult result = cuLibraryGetKernel(&kernel, library, "kernel");
    if (result != CUDA_SUCCESS)
        cuLibraryUnload(library);
    else
        launch(kernel);
    cuLibraryUnload(library);  // error: [library-unload-twice]
    return result;
}

## Python: in the block and in finally [python]
from cuda.bindings import driver

def run(path, work):
    error, library = driver.cuLibraryLoadFromFile(path, [], [], 0, [], [], 0)
    try:
        work(library)
        error, = driver.cuLibraryUnload(library)
    finally:
        error, = driver.cuLibraryUnload(library)  # error: [library-unload-twice]

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run(string path) {
        CUlibrary library = new CUlibrary();
        Check(LibraryManagement.cuLibraryLoadFromFile(ref library, path, null, null, 0, null, null, 0));
        Work(library);
        Check(LibraryManagement.cuLibraryUnload(library));
        Check(LibraryManagement.cuLibraryUnload(library));  // error: [library-unload-twice]
    }
}
"""
