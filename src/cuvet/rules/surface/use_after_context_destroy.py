from __future__ import annotations

from typing import ClassVar

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone


class SurfaceUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys a surface object whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context destroys its surface objects. What a later call with one of them does is documented as
    undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV495"
    name = "surface-use-after-context-destroy"
    severity = "error"
    summary = "a surface object is used after its context was destroyed"
    help = "destroy the surface object before its context, and the context last"
    kind = Kind.SURFACE_OBJECT
    outcomes_of: ClassVar = {"cuSurfObjectGetResourceDesc": (1,)}
    evidence = """
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    measured: cuSurfObjectGetResourceDesc: CUDA_ERROR_INVALID_VALUE (context_gone_surface_asked)
    measured, cuSurfObjectDestroy succeeds: cuSurfObjectDestroy: accepted without an error
      (context_gone_surface_destroy)
    """
    VALID = """
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
surface = cu.surface(cu.array())
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)
cu.cuSurfObjectDestroy(surface)
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
surface = cu.surface(cu.array())
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)
cu.cuSurfObjectDestroy(surface)

## C++: destroyed before its context [c++]
void draw(CUdevice device, const CUDA_RESOURCE_DESC *pixels) {
    CUcontext context;
    CUsurfObject surface;
    cuCtxCreate(&context, nullptr, 0, device);
    cuSurfObjectCreate(&surface, pixels);
    run(surface);
    cuSurfObjectDestroy(surface);
    cuCtxDestroy(context);
}
"""
    INVALID = """
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
surface = cu.surface(cu.array())
cu.cuCtxDestroy(own)
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)  # error: [surface-use-after-context-destroy]

## destroyed after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
surface = cu.surface(cu.array())
cu.cuCtxDestroy(own)
cu.cuSurfObjectDestroy(surface)  # error: [surface-use-after-context-destroy]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
surface = cu.surface(cu.array())
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)  # error: [surface-use-after-context-destroy]

## C++: destroyed after its context [c++]
void draw(CUdevice device, const CUDA_RESOURCE_DESC *pixels) {
    CUcontext context;
    CUsurfObject surface;
    cuCtxCreate(&context, nullptr, 0, device);
    cuSurfObjectCreate(&surface, pixels);
    run(surface);
    cuCtxDestroy(context);
    cuSurfObjectDestroy(surface);  // error: [surface-use-after-context-destroy]
}

## Python: destroyed after its context [python]
from cuda.bindings import driver

def draw(device, pixels, run):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, surface = driver.cuSurfObjectCreate(pixels)
    run(surface)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuSurfObjectDestroy(surface)  # error: [surface-use-after-context-destroy]
"""
