from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone


class ModuleUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or unloads a module whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context unloads its modules. Unloading one of them afterwards was measured to return
    CUDA_ERROR_INVALID_HANDLE; it is documented as undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV605"
    name = "module-use-after-context-destroy"
    severity = "error"
    summary = "a module is used after its context was destroyed"
    help = "unload the module before its context, and the context last"
    kind = Kind.MODULE
    outcomes = (400,)
    evidence = """
    measured: unloading it: CUDA_ERROR_INVALID_HANDLE (context_destroy_then_event_destroy)
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    """
    VALID = """
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
module = cu.module()
cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
module = cu.module()
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuModuleGetFunction(module, "trivial")
cu.cuModuleUnload(module)

## C++: left to its context [c++]
void run(CUdevice device, const char *path) {
    CUcontext context;
    CUmodule module;
    cuCtxCreate(&context, nullptr, 0, device);
    cuModuleLoad(&module, path);
    work(module);
    cuCtxDestroy(context);
}
"""
    INVALID = """
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
module = cu.module()
cu.cuCtxDestroy(own)
cu.cuModuleGetFunction(module, "trivial")  # error: [module-use-after-context-destroy]

## unloaded after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
module = cu.module()
cu.cuCtxDestroy(own)
cu.cuModuleUnload(module)  # error: [module-use-after-context-destroy]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
module = cu.module()
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuModuleGetFunction(module, "trivial")  # error: [module-use-after-context-destroy]

## C++: unloaded after its context [c++]
void run(CUdevice device, const char *path) {
    CUcontext context;
    CUmodule module;
    cuCtxCreate(&context, nullptr, 0, device);
    cuModuleLoad(&module, path);
    work(module);
    cuCtxDestroy(context);
    cuModuleUnload(module);  // error: [module-use-after-context-destroy]
}

## Python: unloaded after its context [python]
from cuda.bindings import driver

def run(device, path, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, module = driver.cuModuleLoad(path)
    work(module)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuModuleUnload(module)  # error: [module-use-after-context-destroy]

## C#: unloaded after its context [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run(CUdevice device, string path) {
        CUcontext context = new CUcontext();
        CUmodule module = new CUmodule();
        Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
        Check(ModuleManagement.cuModuleLoad(ref module, path));
        Check(ContextManagement.cuCtxDestroy_v2(context));
        Check(ModuleManagement.cuModuleUnload(module));  // error: [module-use-after-context-destroy]
    }
}
"""
