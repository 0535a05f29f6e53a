from __future__ import annotations

from typing import ClassVar

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone


class TextureUseAfterContextDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys a texture object whose context was destroyed by `cuCtxDestroy` (or by the last
    `cuDevicePrimaryCtxRelease`).

    ## Why it is wrong
    Destroying a context destroys its texture objects. What a later call with one of them does is documented as
    undefined.

    ## Use instead
    Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects that
    hold CUDA handles must run before it.

    ## Limits
    Objects whose context is not known (created before the first call that was seen) are not judged.
    """

    code = "CV485"
    name = "texture-use-after-context-destroy"
    severity = "error"
    summary = "a texture object is used after its context was destroyed"
    help = "destroy the texture object before its context, and the context last"
    kind = Kind.TEXTURE_OBJECT
    outcomes_of: ClassVar = {"cuTexObjectGetResourceDesc": (1,)}
    evidence = """
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    measured: cuTexObjectGetResourceDesc: CUDA_ERROR_INVALID_VALUE (context_gone_texture_asked)
    measured, cuTexObjectDestroy succeeds: cuTexObjectDestroy: accepted without an error (context_gone_texture_destroy)
    """
    VALID = """
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
texture = cu.texture(cu.array())
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)
cu.cuTexObjectDestroy(texture)
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
texture = cu.texture(cu.array())
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)
cu.cuTexObjectDestroy(texture)

## C++: destroyed before its context [c++]
void draw(CUdevice device, const CUDA_RESOURCE_DESC *pixels, const CUDA_TEXTURE_DESC *description) {
    CUcontext context;
    CUtexObject texture;
    cuCtxCreate(&context, nullptr, 0, device);
    cuTexObjectCreate(&texture, pixels, description, nullptr);
    run(texture);
    cuTexObjectDestroy(texture);
    cuCtxDestroy(context);
}
"""
    INVALID = """
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
texture = cu.texture(cu.array())
cu.cuCtxDestroy(own)
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)  # error: [texture-use-after-context-destroy]

## destroyed after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
texture = cu.texture(cu.array())
cu.cuCtxDestroy(own)
cu.cuTexObjectDestroy(texture)  # error: [texture-use-after-context-destroy]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
texture = cu.texture(cu.array())
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)  # error: [texture-use-after-context-destroy]

## C++: destroyed after its context [c++]
void draw(CUdevice device, const CUDA_RESOURCE_DESC *pixels, const CUDA_TEXTURE_DESC *description) {
    CUcontext context;
    CUtexObject texture;
    cuCtxCreate(&context, nullptr, 0, device);
    cuTexObjectCreate(&texture, pixels, description, nullptr);
    run(texture);
    cuCtxDestroy(context);
    cuTexObjectDestroy(texture);  // error: [texture-use-after-context-destroy]
}

## Python: destroyed after its context [python]
from cuda.bindings import driver

def draw(device, pixels, description, run):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, texture = driver.cuTexObjectCreate(pixels, description, None)
    run(texture)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuTexObjectDestroy(texture)  # error: [texture-use-after-context-destroy]

## C#: destroyed after its context [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Sample(CUdevice device, CudaResourceDesc pixels, CudaTextureDescriptor description) {
        CUcontext context = new CUcontext();
        CUtexObject texture = new CUtexObject();
        Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
        Check(TextureObjects.cuTexObjectCreate(ref texture, ref pixels, ref description, IntPtr.Zero));
        Launch(texture);
        Check(ContextManagement.cuCtxDestroy_v2(context));
        Check(TextureObjects.cuTexObjectDestroy(texture));  // error: [texture-use-after-context-destroy]
    }
}
"""
