from cuvet.catalog.kinds import FUNCTIONS
from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import CRASH


class KernelUseAfterUnload(ParentGone):
    """
    checks: A call names a kernel (`CUkernel`) whose library was unloaded.
    why: Unloading a library releases the code of its kernels in every context. Launching such a kernel was measured
      to die of SIGSEGV inside the driver, with no error code.
    instead: Unload the library after the last launch has been made. Wrappers of kernels should keep their library alive.
    limits: A kernel whose origin was not seen is not judged.
    """

    code = "CV631"
    summary = "a kernel is used after its library was unloaded"
    help = "keep the library loaded while its kernels are used"
    kind = Kind.KERNEL
    kinds = FUNCTIONS
    roots = frozenset({Kind.CULIBRARY})
    outcomes = (CRASH,)
    evidence = """
    measured: cuKernelGetFunction: SIGSEGV in the driver (kernel_asked_after_unload)
    measured: launching it: SIGSEGV in the driver, no error code (library_kernel_after_unload)
    measured, cuKernelGetAttribute succeeds: cuKernelGetAttribute: no error (kernel_attribute_after_unload)
    """
    VALID = """
## unloaded after the last launch
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.launch(kernel, 0, 0)
cu.cuCtxSynchronize()
cu.cuLibraryUnload(library)

## kernel of another library
first = cu.library()
second = cu.library()
kernel = cu.cuLibraryGetKernel(second, "trivial")
cu.cuLibraryUnload(first)
cu.launch(kernel, 0, 0)
cu.cuCtxSynchronize()
cu.cuLibraryUnload(second)

## C++: unloaded once the launch is done [c++]
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
## launched after its library was unloaded
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)
cu.launch(kernel, 0, 0)  # error: [kernel-use-after-unload]

## asked for its function after the library was unloaded
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)
cu.cuKernelGetFunction(kernel)  # error: [kernel-use-after-unload]

## asked for an attribute
library = cu.library()
kernel = cu.cuLibraryGetKernel(library, "trivial")
cu.cuLibraryUnload(library)
cu.cuKernelGetAttribute(0, kernel, device)  # error: [kernel-use-after-unload]

## C++: launched after its library was unloaded [c++]
void run(const void *image, CUstream stream, void **parameters) {
    CUlibrary library;
    CUkernel kernel;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    cuLibraryGetKernel(&kernel, library, "kernel");
    cuLibraryUnload(library);
    cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);  // error: [kernel-use-after-unload]
}

## Python: asked after its library was unloaded [python driver]
def threads(path, device):
    error, library = driver.cuLibraryLoadFromFile(path, [], [], 0, [], [], 0)
    error, kernel = driver.cuLibraryGetKernel(library, b"kernel")
    error, = driver.cuLibraryUnload(library)
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    error, most = driver.cuKernelGetAttribute(attribute, kernel, device)  # error: [kernel-use-after-unload]
    return most

## C#: asked after its library was unloaded [c# method]
void Run(string path) {
    CUlibrary library = new CUlibrary();
    CUkernel kernel = new CUkernel();
    CUfunction function = new CUfunction();
    Check(LibraryManagement.cuLibraryLoadFromFile(ref library, path, null, null, 0, null, null, 0));
    Check(LibraryManagement.cuLibraryGetKernel(ref kernel, library, "kernel"));
    Check(LibraryManagement.cuLibraryUnload(library));
    Check(LibraryManagement.cuKernelGetFunction(ref function, kernel));  // error: [kernel-use-after-unload]
}
"""
