from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice


class ContextDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuCtxDestroy` is called with a context that was destroyed before.

    ## Why it is wrong
    The second call was measured to return CUDA_ERROR_CONTEXT_IS_DESTROYED and, 3 times of 3, to leave the heap of the
    process corrupt, so that it aborts later.

    ## Use instead
    Give the context one owner, which destroys it once. A primary context is released (`cuDevicePrimaryCtxRelease`), not
    destroyed.

    ## Limits
    When a new context has the old one's handle value, the second destruction looks like the first of the new context.
    """

    code = "CV102"
    name = "context-destroy-twice"
    severity = "error"
    summary = "a context is destroyed twice"
    help = "let one owner destroy the context, and clear its handle at that moment"
    kind = Kind.CONTEXT
    outcomes = (709,)
    evidence = """
    measured: CUDA_ERROR_CONTEXT_IS_DESTROYED; heap corruption (abort) in 3 of 3 runs (ctx_destroy_twice)
    documented: It is the caller's responsibility to ensure that the context or its resources are not accessed or passed
      in subsequent API calls and doing so will result in undefined behavior. (CUDA Driver API, Context Management,
      cuCtxDestroy)
    """
    VALID = """
## destroyed once
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)

## two contexts
first = cu.cuCtxCreate(0, 0, device)
second = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(second)
cu.cuCtxDestroy(first)

## primary context released twice
note: one release for each retain
cu.cuDevicePrimaryCtxRetain(device)
cu.cuDevicePrimaryCtxRelease(device)
cu.cuDevicePrimaryCtxRelease(device)

## C++: destroyed on each way out [c++]
int compute(CUdevice device, const char *path) {
    CUcontext context;
    CUmodule module;
    cuCtxCreate(&context, nullptr, 0, device);
    CUresult result = cuModuleLoad(&module, path);
    if (result != CUDA_SUCCESS) {
        cuCtxDestroy(context);
        return result;
    }
    run(module);
    cuModuleUnload(module);
    return cuCtxDestroy(context);
}

## Python: in finally alone [python]
from cuda.bindings import driver

def compute(device, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    try:
        work()
    finally:
        error, = driver.cuCtxDestroy(context)
"""
    INVALID = """
## destroyed twice
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuCtxDestroy(own)  # error: [context-destroy-twice]

## destroyed by two threads
own = cu.cuCtxCreate(0, 0, device)
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuCtxDestroy(own)  # error: [context-destroy-twice]

## C++: on failure, and at the end [c++]
int compute(CUdevice device, const char *path) {
    CUcontext context;
    CUmodule module;
    cuCtxCreate(&context, nullptr, 0, device);
    CUresult result = cuModuleLoad(&module, path);
    if (result != CUDA_SUCCESS)
        cuCtxDestroy(context);
    else
        run(module);
    cuCtxDestroy(context);  // error: [context-destroy-twice]
    return result;
}

## Python: in the block and in finally [python]
from cuda.bindings import driver

def compute(device, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    try:
        work()
        error, = driver.cuCtxDestroy(context)
    finally:
        error, = driver.cuCtxDestroy(context)  # error: [context-destroy-twice]

## C#: destroyed twice [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Compute(CUdevice device) {
        CUcontext context = new CUcontext();
        Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
        Check(ContextManagement.cuCtxDestroy_v2(context));
        Work();
        Check(ContextManagement.cuCtxDestroy_v2(context));  // error: [context-destroy-twice]
    }
}
"""
