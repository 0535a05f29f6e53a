from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice


class SurfaceDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuSurfObjectDestroy` is called with a surface object that was destroyed before.

    ## Why it is wrong
    The driver was measured to accept it in silence. But surface objects are numbers that are given out again:
    if a surface was created in between, the second destruction ends that one.

    ## Use instead
    Give the surface object one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV492"
    name = "surface-destroy-twice"
    severity = "error"
    summary = "a surface object is destroyed twice"
    help = "let one owner destroy the surface object, and clear its handle at that moment"
    kind = Kind.SURFACE_OBJECT
    evidence = """
    measured, succeeds: accepted without an error (surface_destroy_twice)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Surface Object Management,
      cudaDestroySurfaceObject)
    """
    VALID = """
## destroyed once
array = cu.array()
surface = cu.surface(array)
cu.cuSurfObjectDestroy(surface)

## handle issued again
note: the new one often has the old handle value
array = cu.array()
surface = cu.surface(array)
cu.cuSurfObjectDestroy(surface)
array = cu.array()
surface = cu.surface(array)
cu.cuSurfObjectDestroy(surface)

## C++: destroyed on each way out [cuda]
bool draw(const cudaResourceDesc *pixels) {
    cudaSurfaceObject_t surface;
    cudaCreateSurfaceObject(&surface, pixels);
    if (!paint(surface)) {
        cudaDestroySurfaceObject(surface);
        return false;
    }
    cudaDestroySurfaceObject(surface);
    return true;
}
"""
    INVALID = """
## destroyed twice
array = cu.array()
surface = cu.surface(array)
cu.cuSurfObjectDestroy(surface)
cu.cuSurfObjectDestroy(surface)  # error: [surface-destroy-twice]

## destroyed by two threads
array = cu.array()
surface = cu.surface(array)
cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuSurfObjectDestroy(surface)))
cu.cuSurfObjectDestroy(surface)  # error: [surface-destroy-twice]

## C++: in a branch and at the end [cuda]
bool draw(const cudaResourceDesc *pixels) {
    cudaSurfaceObject_t surface;
    cudaCreateSurfaceObject(&surface, pixels);
    bool painted = paint(surface);
    if (!painted)
        cudaDestroySurfaceObject(surface);
    cudaDestroySurfaceObject(surface);  // error: [surface-destroy-twice]
    return painted;
}

## Python: in the block and in finally [python]
from cuda.bindings import runtime as cudart

def draw(pixels, paint):
    error, surface = cudart.cudaCreateSurfaceObject(pixels)
    try:
        paint(surface)
        error, = cudart.cudaDestroySurfaceObject(surface)
    finally:
        error, = cudart.cudaDestroySurfaceObject(surface)  # error: [surface-destroy-twice]

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Paint(CudaResourceDesc pixels) {
        CUsurfObject surface = new CUsurfObject();
        Check(SurfaceObjects.cuSurfObjectCreate(ref surface, ref pixels));
        Launch(surface);
        Check(SurfaceObjects.cuSurfObjectDestroy(surface));
        Check(SurfaceObjects.cuSurfObjectDestroy(surface));  // error: [surface-destroy-twice]
    }
}
"""
