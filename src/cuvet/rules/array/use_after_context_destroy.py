from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone


class ArrayUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys an array whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context destroys its arrays. What a later call with one of them does is documented as
    undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV465"
    name = "array-use-after-context-destroy"
    severity = "error"
    summary = "an array is used after its context was destroyed"
    help = "destroy the array before its context, and the context last"
    kind = Kind.ARRAY
    outcomes = (709,)
    evidence = """
    measured: asking for its descriptor and destroying it: CUDA_ERROR_CONTEXT_IS_DESTROYED (context_gone_array,
      context_gone_array_destroy)
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    documented: cuArrayDestroy returns CUDA_ERROR_CONTEXT_IS_DESTROYED among others. (CUDA Driver API, Memory
      Management, cuArrayDestroy)
    """
    VALID = """
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
array = cu.array()
cu.cuArray3DGetDescriptor(cu.host(40), array)
cu.cuArrayDestroy(array)
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
array = cu.array()
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuArray3DGetDescriptor(cu.host(40), array)
cu.cuArrayDestroy(array)

## C++: destroyed before its context [c++]
void draw(CUdevice device, const CUDA_ARRAY_DESCRIPTOR *descriptor) {
    CUcontext context;
    CUarray pixels;
    cuCtxCreate(&context, nullptr, 0, device);
    cuArrayCreate(&pixels, descriptor);
    paint(pixels);
    cuArrayDestroy(pixels);
    cuCtxDestroy(context);
}
"""
    INVALID = """
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
array = cu.array()
cu.cuCtxDestroy(own)
cu.cuArray3DGetDescriptor(cu.host(40), array)  # error: [array-use-after-context-destroy]

## destroyed after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
array = cu.array()
cu.cuCtxDestroy(own)
cu.cuArrayDestroy(array)  # error: [array-use-after-context-destroy]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
array = cu.array()
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuArray3DGetDescriptor(cu.host(40), array)  # error: [array-use-after-context-destroy]

## C++: destroyed after its context [c++]
void draw(CUdevice device, const CUDA_ARRAY_DESCRIPTOR *descriptor) {
    CUcontext context;
    CUarray pixels;
    cuCtxCreate(&context, nullptr, 0, device);
    cuArrayCreate(&pixels, descriptor);
    paint(pixels);
    cuCtxDestroy(context);
    cuArrayDestroy(pixels);  // error: [array-use-after-context-destroy]
}

## Python: destroyed after its context [python]
from cuda.bindings import driver

def draw(device, descriptor, paint):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, pixels = driver.cuArrayCreate(descriptor)
    paint(pixels)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuArrayDestroy(pixels)  # error: [array-use-after-context-destroy]

## C#: destroyed after its context [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Draw(CUdevice device, CUDAArrayDescriptor descriptor) {
        CUcontext context = new CUcontext();
        CUarray pixels = new CUarray();
        Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
        Check(ArrayManagement.cuArrayCreate_v2(ref pixels, ref descriptor));
        Paint(pixels);
        Check(ContextManagement.cuCtxDestroy_v2(context));
        Check(ArrayManagement.cuArrayDestroy(pixels));  // error: [array-use-after-context-destroy]
    }
}
"""
