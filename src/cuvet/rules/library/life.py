from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.CULIBRARY,
    name="library",
    make="cu.library()",
    use='cu.cuLibraryGetKernel({}, "trivial")',
    end="cu.cuLibraryUnload({})",
    verb="unload",
    other="cu.module()",
    cpp=Spelled(
        type="CUlibrary",
        given="const void *image, CUkernel *kernel",
        make="cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0)",
        use='cuLibraryGetKernel(kernel, library, "kernel")',
        end="cuLibraryUnload(library)",
    ),
    python=Spelled(
        given="path",
        make="error, library = driver.cuLibraryLoadFromFile(path, [], [], 0, [], [], 0)",
        use='error, kernel = driver.cuLibraryGetKernel(library, b"kernel")',
        end="error, = driver.cuLibraryUnload(library)",
    ),
    csharp=Spelled(
        type="CUlibrary",
        given="string path, CUkernel kernel",
        make="LibraryManagement.cuLibraryLoadFromFile(ref library, path, null, null, 0, null, null, 0)",
        use='LibraryManagement.cuLibraryGetKernel(ref kernel, library, "kernel")',
        end="LibraryManagement.cuLibraryUnload(library)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV621", (500,)),
        Mistake(DESTROYED_TWICE, "CV622", (CRASH,)),
        Mistake(NULL_HANDLE, "CV623", (400,)),
        Mistake(NEVER_CREATED, "CV624", (400, 1, CRASH), mistaken={Kind.MODULE: (CRASH, 400)}),
    ),
)

TEXTS = """
# library-use-after-unload
why: The library's code and variables are gone in every context. Requesting a kernel was measured to return
  CUDA_ERROR_NOT_FOUND, which hides the reason.
measured: asking it for a kernel: CUDA_ERROR_NOT_FOUND (library_use_after_unload)

# library-use-after-unload: right

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

# library-unload-twice
why: The first call released the library in every context. The second was measured to die of SIGSEGV inside the driver.
measured: SIGSEGV in the driver, no error code (library_unload_twice)

# library-null-handle
why: No library has the handle NULL. Usually the load failed, and the program ignored its status.
measured: CUDA_ERROR_INVALID_HANDLE (module_null)

# library-never-created
why: The number is no library. Neither is a module (`CUmodule`).
measured: cuLibraryGetKernel of a module: SIGSEGV in the driver in four of five runs, SIGFPE in one (library_is_module)
measured: a number from nowhere: SIGSEGV in the driver, no error code (library_from_nowhere)
documented: {invalid_handle}

# library-never-created: right

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

# library-never-created: wrong

## C++: a module as a library [c++]
void run(const char *path) {
    CUmodule module;
    CUkernel kernel;
    cuModuleLoad(&module, path);
    cuLibraryGetKernel(&kernel, (CUlibrary)module, "kernel");  // error: [library-never-created]
    launch(kernel);
    cuModuleUnload(module);
}

## C#: handles as IntPtr [c# class]
[DllImport("nvcuda")] static extern int cuModuleLoadData(out IntPtr module, byte[] image);
[DllImport("nvcuda")] static extern int cuLibraryUnload(IntPtr library);

void Run(byte[] image) {
    Check(cuModuleLoadData(out IntPtr module, image));
    Work(module);
    Check(cuLibraryUnload(module));  // error: [library-never-created]
}
"""
