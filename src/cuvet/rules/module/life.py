from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_CONTEXT, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.MODULE,
    name="module",
    make="cu.module()",
    use='cu.cuModuleGetFunction({}, "trivial")',
    end="cu.cuModuleUnload({})",
    verb="unload",
    other="cu.library()",
    undefined="CUDA Driver API, Module Management, cuModuleUnload",
    cpp=Spelled(
        type="CUmodule",
        given="const char *path, CUfunction *kernel",
        make="cuModuleLoad(&module, path)",
        use='cuModuleGetFunction(kernel, module, "kernel")',
        end="cuModuleUnload(module)",
    ),
    python=Spelled(
        given="path",
        make="error, module = driver.cuModuleLoad(path)",
        use='error, kernel = driver.cuModuleGetFunction(module, b"kernel")',
        end="error, = driver.cuModuleUnload(module)",
    ),
    csharp=Spelled(
        type="CUmodule",
        given="string path, CUfunction kernel",
        make="ModuleManagement.cuModuleLoad(ref module, path)",
        use='ModuleManagement.cuModuleGetFunction(ref kernel, module, "kernel")',
        end="ModuleManagement.cuModuleUnload(module)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV601", (400,)),
        Mistake(DESTROYED_TWICE, "CV602", (400,)),
        Mistake(NULL_HANDLE, "CV603", (400,)),
        Mistake(NEVER_CREATED, "CV604", (CRASH, 400), mistaken={Kind.STREAM: (400,)}),
        Mistake(USED_AFTER_CONTEXT, "CV605", (400,)),
    ),
)

TEXTS = """
# module-use-after-unload
why: The module's code and variables are gone. The call was measured to return CUDA_ERROR_INVALID_HANDLE.
documented: {undefined}
measured: asking it for a function: CUDA_ERROR_INVALID_HANDLE (module_use_after_unload)

# module-use-after-unload: right

## one image loaded twice
note: each load is a module of its own
first = cu.module()
second = cu.module()
cu.cuModuleUnload(first)
cu.launch(cu.cuModuleGetFunction(second, "trivial"), 0, 0)
cu.cuCtxSynchronize()
cu.cuModuleUnload(second)

## Python: unloaded in finally [python driver]
def run(path, launch):
    error, module = driver.cuModuleLoad(path)
    try:
        error, kernel = driver.cuModuleGetFunction(module, b"kernel")
        launch(kernel)
    finally:
        error, = driver.cuModuleUnload(module)

# module-unload-twice
why: The first call released the module. The second was measured to return CUDA_ERROR_INVALID_HANDLE.
measured: CUDA_ERROR_INVALID_HANDLE; the driver logs "module is of wrong type, expected CUmodule" (module_garbage)
documented: {undefined}

# module-null-handle
why: No module has the handle NULL. Usually the load failed, and the program ignored its status.
measured: CUDA_ERROR_INVALID_HANDLE (module_null)

# module-never-created
why: The number is no module. Neither is a library (`CUlibrary`); `cuLibraryGetModule` returns its module.
measured: a number from nowhere, given to cuModuleGetFunction: SIGSEGV in the driver (module_from_nowhere)
documented: {invalid_handle}
measured: cuModuleGetFunction of a stream: CUDA_ERROR_INVALID_HANDLE (stream_as_module)
measured: a stale module: CUDA_ERROR_INVALID_HANDLE, "module is of wrong type, expected CUmodule" (module_garbage)

# module-never-created: right

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

# module-never-created: wrong

## C++: a library as a module [c++]
void run(const void *image) {
    CUlibrary library;
    cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    work(library);
    cuModuleUnload((CUmodule)library);  // error: [module-never-created]
}

## C#: handles as IntPtr [c# class]
[DllImport("nvcuda")] static extern int cuLibraryLoadData(out IntPtr library, byte[] code, IntPtr options, IntPtr values,
    uint count, IntPtr libraryOptions, IntPtr libraryValues, uint libraryCount);
[DllImport("nvcuda")] static extern int cuModuleUnload(IntPtr module);

void Run(byte[] image) {
    Check(cuLibraryLoadData(out IntPtr library, image, IntPtr.Zero, IntPtr.Zero, 0, IntPtr.Zero, IntPtr.Zero, 0));
    Work(library);
    Check(cuModuleUnload(library));  // error: [module-never-created]
}

# module-use-after-context-destroy
why: Destroying a context unloads its modules. A later unload was measured to return CUDA_ERROR_INVALID_HANDLE.
measured: unloading it: CUDA_ERROR_INVALID_HANDLE (context_destroy_then_event_destroy)
"""
