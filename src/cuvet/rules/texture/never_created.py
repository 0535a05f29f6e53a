from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import USES, NeverCreated


class TextureNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a texture object is given a number that no call handed out as one, and the call fails or
    crashes.

    ## Why it is wrong
    The number names no texture object. The array that a texture reads is not the texture.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the texture object,
    and pass handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV484"
    name = "texture-never-created"
    severity = "error"
    summary = "a texture object is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the texture object"
    kind = Kind.TEXTURE_OBJECT
    outcomes = (1, 400)
    verbs = USES
    evidence = """
    measured: asking a stale one for its resource: CUDA_ERROR_INVALID_VALUE (texture_use_after_destroy)
    measured: destroying a number that names none is accepted (texture_null)
    """
    VALID = """
## created first
texture = cu.texture(cu.array())
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)
cu.cuTexObjectDestroy(texture)

## created by another thread
texture = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.texture(cu.array()))[1])
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)
cu.cuTexObjectDestroy(texture)

## C++: the surface's own function [cuda]
void inspect(const cudaResourceDesc *pixels) {
    cudaSurfaceObject_t surface;
    cudaResourceDesc resource;
    cudaCreateSurfaceObject(&surface, pixels);
    cudaGetSurfaceObjectResourceDesc(&resource, surface);
    cudaDestroySurfaceObject(surface);
}
"""
    INVALID = """
## a number from nowhere
cu.cuTexObjectGetResourceDesc(cu.host(144), 0x1234567000)  # error: [texture-never-created]

## an object of another kind
other = cu.array()
cu.cuTexObjectGetResourceDesc(cu.host(144), other)  # error: [texture-never-created]

## C++: a surface object [cuda]
void inspect(const cudaResourceDesc *pixels) {
    cudaSurfaceObject_t surface;
    cudaResourceDesc resource;
    cudaCreateSurfaceObject(&surface, pixels);
    cudaGetTextureObjectResourceDesc(&resource, surface);  // error: [texture-never-created]
    cudaDestroySurfaceObject(surface);
}

## C#: handles as ulong [c#]
class Image {
    [DllImport("cudart64_12")] static extern int cudaCreateSurfaceObject(out ulong surface, ref Resource pixels);
    [DllImport("cudart64_12")] static extern int cudaDestroySurfaceObject(ulong surface);
    [DllImport("cudart64_12")] static extern int cudaGetTextureObjectResourceDesc(out Resource pixels, ulong texture);

    Resource Inspect(Resource pixels) {
        Check(cudaCreateSurfaceObject(out ulong surface, ref pixels));
        Check(cudaGetTextureObjectResourceDesc(out Resource found, surface));  // error: [texture-never-created]
        Check(cudaDestroySurfaceObject(surface));
        return found;
    }
}
"""
