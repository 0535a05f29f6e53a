from __future__ import annotations

from cuvet.catalog.kinds import FUNCTIONS
from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone


class FunctionUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses a function whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context unloads its modules, and with them their functions. Launching one of them afterwards
    was measured to return CUDA_ERROR_INVALID_HANDLE; it is documented as undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV615"
    name = "function-use-after-context-destroy"
    severity = "error"
    summary = "a function is used after its context was destroyed"
    help = "let go of the function before its context, and the context last"
    kind = Kind.FUNCTION
    kinds = FUNCTIONS
    outcomes = (400,)
    evidence = """
    measured: launching it: CUDA_ERROR_INVALID_HANDLE (context_destroy_then_event_destroy)
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    """
    VALID = """
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
function = cu.kernel()
cu.cuFuncGetAttribute(0, function)
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
function = cu.kernel()
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuFuncGetAttribute(0, function)

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
"""
    INVALID = """
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
function = cu.kernel()
cu.cuCtxDestroy(own)
cu.cuFuncGetAttribute(0, function)  # error: [function-use-after-context-destroy]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
function = cu.kernel()
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuFuncGetAttribute(0, function)  # error: [function-use-after-context-destroy]

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

## Python: launched after its context's end [python]
from cuda.bindings import driver

def run(device, image, stream, parameters):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, module = driver.cuModuleLoadData(image)
    error, kernel = driver.cuModuleGetFunction(module, b"kernel")
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, 0)  # error: [function-use-after-context-destroy]

## C#: asked after its context's end [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
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
}
"""
