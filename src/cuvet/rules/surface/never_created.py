from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import USES, NeverCreated


class SurfaceNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a surface object is given a number that no call handed out as one, and the call fails or
    crashes.

    ## Why it is wrong
    The number names no surface object. The array that a surface writes is not the surface.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the surface object,
    and pass handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV494"
    name = "surface-never-created"
    severity = "error"
    summary = "a surface object is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the surface object"
    kind = Kind.SURFACE_OBJECT
    outcomes = (1, 400)
    verbs = USES
    evidence = """
    measured: asking a stale one for its resource: CUDA_ERROR_INVALID_VALUE (surface_use_after_destroy)
    measured: destroying a number that names none is accepted (texture_null)
    """
    VALID = """
## created first
surface = cu.surface(cu.array())
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)
cu.cuSurfObjectDestroy(surface)

## created by another thread
surface = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.surface(cu.array()))[1])
cu.cuSurfObjectGetResourceDesc(cu.host(144), surface)
cu.cuSurfObjectDestroy(surface)

## C++: the texture's own function [cuda]
void inspect(const cudaResourceDesc *pixels, const cudaTextureDesc *description) {
    cudaTextureObject_t texture;
    cudaResourceDesc resource;
    cudaCreateTextureObject(&texture, pixels, description, nullptr);
    cudaGetTextureObjectResourceDesc(&resource, texture);
    cudaDestroyTextureObject(texture);
}
"""
    INVALID = """
## a number from nowhere
cu.cuSurfObjectGetResourceDesc(cu.host(144), 0x1234567000)  # error: [surface-never-created]

## an object of another kind
other = cu.array()
cu.cuSurfObjectGetResourceDesc(cu.host(144), other)  # error: [surface-never-created]

## C++: a texture object [cuda]
void inspect(const cudaResourceDesc *pixels, const cudaTextureDesc *description) {
    cudaTextureObject_t texture;
    cudaResourceDesc resource;
    cudaCreateTextureObject(&texture, pixels, description, nullptr);
    cudaGetSurfaceObjectResourceDesc(&resource, texture);  // error: [surface-never-created]
    cudaDestroyTextureObject(texture);
}

## C#: handles as ulong [c#]
class Image {
    [DllImport("cudart64_12")] static extern int cudaCreateTextureObject(out ulong texture, ref Resource pixels, ref How how, IntPtr view);
    [DllImport("cudart64_12")] static extern int cudaDestroyTextureObject(ulong texture);
    [DllImport("cudart64_12")] static extern int cudaGetSurfaceObjectResourceDesc(out Resource pixels, ulong surface);

    Resource Inspect(Resource pixels, How how) {
        Check(cudaCreateTextureObject(out ulong texture, ref pixels, ref how, IntPtr.Zero));
        Check(cudaGetSurfaceObjectResourceDesc(out Resource found, texture));  // error: [surface-never-created]
        Check(cudaDestroyTextureObject(texture));
        return found;
    }
}
"""
