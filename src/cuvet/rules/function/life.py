from cuvet.catalog.roles import Kind
from cuvet.rules.families import MISTAKEN, NULL_HANDLE, USED_AFTER_CONTEXT
from cuvet.rules.lives import Life, Mistake
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.FUNCTION,
    name="function",
    make="cu.kernel()",
    use="cu.launch({}, 0, 0)",
    other="cu.module()",
    mistakes=(
        Mistake(NULL_HANDLE, "CV613", (400,), outcomes_of={"cuFuncGetModule": (1, 400)}),
        Mistake(MISTAKEN, "CV614", (400, CRASH), mistaken={Kind.STREAM: (400,), Kind.MODULE: (CRASH, 400)}),
        Mistake(
            USED_AFTER_CONTEXT,
            "CV615",
            (400,),
            kinds=frozenset({Kind.FUNCTION, Kind.KERNEL}),
            use="cu.cuFuncGetAttribute(0, {})",
        ),
    ),
)

TEXTS = """
# function-null-handle
why: No function has the handle NULL: usually the load of its module failed, or the module has no function of that name,
  and nobody looked at the status.
measured: launch: CUDA_ERROR_INVALID_HANDLE; cuFuncGetModule(NULL, NULL): CUDA_ERROR_INVALID_VALUE (module_null)

# function-never-created
why: The number names no function. The address of a host function, or of a kernel's host stub, is not a `CUfunction`.
documented: {invalid_handle}
measured: a stale function is refused with CUDA_ERROR_INVALID_HANDLE (use_function_after_unload)
measured: launching a stream: CUDA_ERROR_INVALID_HANDLE (stream_as_function)
measured: launching a module in the place of a function: SIGSEGV in the driver, no error code
  (module_launched_as_function)

# function-never-created: right

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

# function-never-created: wrong

## C++: a module as a function [c++]
void run(const char *path, CUstream stream, void **parameters) {
    CUmodule module;
    cuModuleLoad(&module, path);
    cuLaunchKernel((CUfunction)module, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);  // error: [function-never-created]
    cuModuleUnload(module);
}

## C#: handles as IntPtr [c# class]
[DllImport("nvcuda")] static extern int cuModuleLoadData(out IntPtr module, byte[] image);
[DllImport("nvcuda")] static extern int cuModuleUnload(IntPtr module);
[DllImport("nvcuda")] static extern int cuFuncSetAttribute(IntPtr function, int attribute, int value);

void Run(byte[] image, int shared) {
    Check(cuModuleLoadData(out IntPtr module, image));
    Check(cuFuncSetAttribute(module, 8, shared));  // error: [function-never-created]
    Work(module);
    Check(cuModuleUnload(module));
}

# function-use-after-context-destroy
help: let go of the function before its context, and the context last
checks: A call uses a function whose context was destroyed by `cuCtxDestroy` (or by the last
  `cuDevicePrimaryCtxRelease`).
why: Destroying a context unloads its modules, and with them their functions. Launching one of them afterwards was
  measured to return CUDA_ERROR_INVALID_HANDLE; it is documented as undefined.
measured: launching it: CUDA_ERROR_INVALID_HANDLE (context_destroy_then_event_destroy)

# function-use-after-context-destroy: right

## C++: launched while its context lives [c++]
void run(CUdevice device, const char *path, void **parameters) {
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    cuCtxCreate(&context, nullptr, 0, device);
    cuModuleLoad(&module, path);
    cuModuleGetFunction(&kernel, module, "kernel");
    cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr);
    cuCtxSynchronize();
    cuCtxDestroy(context);
}

# function-use-after-context-destroy: wrong

## C++: launched after its context's end [c++]
void run(CUdevice device, CUcontext other, const char *path, void **parameters) {
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    cuCtxCreate(&context, nullptr, 0, device);
    cuModuleLoad(&module, path);
    cuModuleGetFunction(&kernel, module, "kernel");
    cuCtxDestroy(context);
    cuCtxSetCurrent(other);
    cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr);  // error: [function-use-after-context-destroy]
}

## Python: launched after its context's end [python driver]
def run(device, image, stream, parameters):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, module = driver.cuModuleLoadData(image)
    error, kernel = driver.cuModuleGetFunction(module, b"kernel")
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, 0)  # error: [function-use-after-context-destroy]

## C#: asked after its context's end [c# method]
int Registers(CUdevice device, string path) {
    CUcontext context = new CUcontext();
    CUmodule module = new CUmodule();
    CUfunction kernel = new CUfunction();
    int registers = 0;
    Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
    Check(ModuleManagement.cuModuleLoad(ref module, path));
    Check(ModuleManagement.cuModuleGetFunction(ref kernel, module, "kernel"));
    Check(ContextManagement.cuCtxDestroy_v2(context));
    var asked = CUFunctionAttribute.NumRegs;
    Check(FunctionManagement.cuFuncGetAttribute(ref registers, asked, kernel));  // error: [function-use-after-context-destroy]
    return registers;
}
"""
