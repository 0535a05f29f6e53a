from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy


class LibraryUseAfterUnload(UseAfterDestroy):
    """
    ## What it checks
    A call names a library that `cuLibraryUnload` unloaded before.

    ## Why it is wrong
    The code and the variables of the library are gone, in every context. Asking it for a kernel was measured to
    return CUDA_ERROR_NOT_FOUND, which does not tell the reason.

    ## Use instead
    Unload the library after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV621"
    name = "library-use-after-unload"
    severity = "error"
    summary = "a library is used after it was unloaded"
    help = "unload the library after its last use, or clear the variable that still holds it"
    kind = Kind.LIBRARY
    outcomes = (500,)
    evidence = """
    measured: asking it for a kernel: CUDA_ERROR_NOT_FOUND (library_use_after_unload)
    """
    VALID = """
## unloaded after its last use
library = cu.library()
cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)

## used in two contexts
note: a library belongs to no context
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.launch(kernel, 0, 0)
own = cu.cuCtxCreate(0, 0, device)
cu.launch(kernel, 0, 0)
cu.cuCtxSynchronize()
cu.cuCtxDestroy(own)
cu.cuLibraryUnload(library)

## handle issued again
note: the new one often has the old handle value
library = cu.library()
cu.cuLibraryUnload(library)
library = cu.library()
cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)

## C++: unloaded after the launch [c++]
void run(const void *image, CUstream stream) {
    CUlibrary library;
    CUkernel kernel;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    cuLibraryGetKernel(&kernel, library, "kernel");
    launch(kernel, stream);
    cuStreamSynchronize(stream);
    cuLibraryUnload(library);
}
"""
    INVALID = """
## used after its unloading
library = cu.library()
cu.cuLibraryUnload(library)
cu.cuLibraryGetKernel(library, "trivial")  # error: [library-use-after-unload]

## unloaded by another thread
library = cu.library()
cu.in_thread(lambda: cu.cuLibraryUnload(library))
cu.cuLibraryGetKernel(library, "trivial")  # error: [library-use-after-unload]

## C++: asked for a kernel after it was unloaded [c++]
void run(const void *image) {
    CUlibrary library;
    CUkernel kernel;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    cuLibraryUnload(library);
    cuLibraryGetKernel(&kernel, library, "kernel");  // error: [library-use-after-unload]
    launch(kernel);
}

## Python: asked for a kernel after it was unloaded [python]
from cuda.bindings import driver

def run(path, launch):
    error, library = driver.cuLibraryLoadFromFile(path, [], [], 0, [], [], 0)
    error, = driver.cuLibraryUnload(library)
    error, kernel = driver.cuLibraryGetKernel(library, b"kernel")  # error: [library-use-after-unload]
    launch(kernel)

## C#: asked for a kernel after it was unloaded [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run(string path) {
        CUlibrary library = new CUlibrary();
        CUkernel kernel = new CUkernel();
        Check(LibraryManagement.cuLibraryLoadFromFile(ref library, path, null, null, 0, null, null, 0));
        Check(LibraryManagement.cuLibraryUnload(library));
        Check(LibraryManagement.cuLibraryGetKernel(ref kernel, library, "kernel"));  // error: [library-use-after-unload]
    }
}
"""
