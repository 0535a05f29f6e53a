from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy


class SurfaceUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a surface object that `cuSurfObjectDestroy` destroyed before.

    ## Why it is wrong
    The number names no surface any more, or names the next surface that is created.

    ## Use instead
    Destroy the surface object after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV491"
    name = "surface-use-after-destroy"
    severity = "error"
    summary = "a surface object is used after it was destroyed"
    help = "destroy the surface object after its last use, or clear the variable that still holds it"
    kind = Kind.SURFACE_OBJECT
    outcomes = (1,)
    evidence = """
    measured: asking for its resource: CUDA_ERROR_INVALID_VALUE (surface_use_after_destroy)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Surface Object Management,
      cudaDestroySurfaceObject)
    """
    VALID = """
## destroyed after its last use
array = cu.array()
surface = cu.surface(array)
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)
cu.cuSurfObjectDestroy(surface)

## the array goes after its surfaces
note: two surfaces of one array
array = cu.array()
first = cu.surface(array)
second = cu.surface(array)
cu.cuSurfObjectDestroy(first)
cu.cuSurfObjectDestroy(second)
cu.cuArrayDestroy(array)

## handle issued again
note: the new one often has the old handle value
array = cu.array()
surface = cu.surface(array)
cu.cuSurfObjectDestroy(surface)
array = cu.array()
surface = cu.surface(array)
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)
cu.cuSurfObjectDestroy(surface)

## C++: asked before the destruction [cuda]
cudaArray_t pixels_of(const cudaResourceDesc *pixels) {
    cudaSurfaceObject_t surface;
    cudaResourceDesc resource;
    cudaCreateSurfaceObject(&surface, pixels);
    paint<<<1, 256>>>(surface);
    cudaGetSurfaceObjectResourceDesc(&resource, surface);
    cudaDestroySurfaceObject(surface);
    return resource.res.array.array;
}
"""
    INVALID = """
## used after its destruction
array = cu.array()
surface = cu.surface(array)
cu.cuSurfObjectDestroy(surface)
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)  # error: [surface-use-after-destroy]

## destroyed by another thread
array = cu.array()
surface = cu.surface(array)
cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuSurfObjectDestroy(surface)))
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)  # error: [surface-use-after-destroy]

## C++: asked after the destruction [cuda]
cudaArray_t pixels_of(const cudaResourceDesc *pixels) {
    cudaSurfaceObject_t surface;
    cudaResourceDesc resource;
    cudaCreateSurfaceObject(&surface, pixels);
    paint<<<1, 256>>>(surface);
    cudaDestroySurfaceObject(surface);
    cudaGetSurfaceObjectResourceDesc(&resource, surface);  // error: [surface-use-after-destroy]
    return resource.res.array.array;
}

## Python: asked after the destruction [python]
from cuda.bindings import runtime as cudart

def pixels_of(pixels, paint):
    error, surface = cudart.cudaCreateSurfaceObject(pixels)
    paint(surface)
    error, = cudart.cudaDestroySurfaceObject(surface)
    error, resource = cudart.cudaGetSurfaceObjectResourceDesc(surface)  # error: [surface-use-after-destroy]
    return resource

## C#: asked after the destruction [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Paint(CudaResourceDesc pixels) {
        CUsurfObject surface = new CUsurfObject();
        Check(SurfaceObjects.cuSurfObjectCreate(ref surface, ref pixels));
        Launch(surface);
        Check(SurfaceObjects.cuSurfObjectDestroy(surface));
        Check(SurfaceObjects.cuSurfObjectGetResourceDesc(ref pixels, surface));  // error: [surface-use-after-destroy]
    }
}
"""
