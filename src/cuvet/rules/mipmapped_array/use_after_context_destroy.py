from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone


class MipmappedArrayUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys a mipmapped array whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context destroys its mipmapped arrays. What a later call with one of them does is documented as
    undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV475"
    name = "mipmapped-array-use-after-context-destroy"
    severity = "error"
    summary = "a mipmapped array is used after its context was destroyed"
    help = "destroy the mipmapped array before its context, and the context last"
    kind = Kind.MIPMAPPED_ARRAY
    outcomes = (709,)
    evidence = """
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    """
    VALID = """
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
array = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
array = cu.mipmapped_array()
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)

## C++: destroyed before its context [c++]
void draw(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels) {
    CUcontext context;
    CUmipmappedArray pyramid;
    cuCtxCreate(&context, nullptr, 0, device);
    cuMipmappedArrayCreate(&pyramid, descriptor, levels);
    paint(pyramid);
    cuMipmappedArrayDestroy(pyramid);
    cuCtxDestroy(context);
}
"""
    INVALID = """
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
array = cu.mipmapped_array()
cu.cuCtxDestroy(own)
cu.cuMipmappedArrayGetLevel(array, 0)  # error: [mipmapped-array-use-after-context-destroy]

## destroyed after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
array = cu.mipmapped_array()
cu.cuCtxDestroy(own)
cu.cuMipmappedArrayDestroy(array)  # error: [mipmapped-array-use-after-context-destroy]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
array = cu.mipmapped_array()
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuMipmappedArrayGetLevel(array, 0)  # error: [mipmapped-array-use-after-context-destroy]

## C++: destroyed after its context [c++]
void draw(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels) {
    CUcontext context;
    CUmipmappedArray pyramid;
    cuCtxCreate(&context, nullptr, 0, device);
    cuMipmappedArrayCreate(&pyramid, descriptor, levels);
    paint(pyramid);
    cuCtxDestroy(context);
    cuMipmappedArrayDestroy(pyramid);  // error: [mipmapped-array-use-after-context-destroy]
}

## Python: destroyed after its context [python]
from cuda.bindings import driver

def draw(device, descriptor, levels, paint):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, pyramid = driver.cuMipmappedArrayCreate(descriptor, levels)
    paint(pyramid)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuMipmappedArrayDestroy(pyramid)  # error: [mipmapped-array-use-after-context-destroy]
"""
