from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy


class TextureUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a texture object that `cuTexObjectDestroy` destroyed before.

    ## Why it is wrong
    The number names no texture any more, or names the next texture that is created.

    ## Use instead
    Destroy the texture object after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV481"
    name = "texture-use-after-destroy"
    severity = "error"
    summary = "a texture object is used after it was destroyed"
    help = "destroy the texture object after its last use, or clear the variable that still holds it"
    kind = Kind.TEXTURE_OBJECT
    outcomes = (1,)
    evidence = """
    measured: asking for its resource: CUDA_ERROR_INVALID_VALUE (texture_use_after_destroy)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Texture Object Management,
      cudaDestroyTextureObject)
    """
    VALID = """
## destroyed after its last use
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)
cu.cuTexObjectDestroy(texture)

## the array goes after its textures
note: two textures of one array
array = cu.array()
first = cu.texture(array)
second = cu.texture(array)
cu.cuTexObjectDestroy(first)
cu.cuTexObjectDestroy(second)
cu.cuArrayDestroy(array)

## handle issued again
note: the new one often has the old handle value
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectDestroy(texture)
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)
cu.cuTexObjectDestroy(texture)

## C++: asked before the destruction [cuda]
cudaArray_t pixels_of(const cudaResourceDesc *pixels, const cudaTextureDesc *description) {
    cudaTextureObject_t texture;
    cudaResourceDesc resource;
    cudaCreateTextureObject(&texture, pixels, description, nullptr);
    sample<<<1, 256>>>(texture);
    cudaGetTextureObjectResourceDesc(&resource, texture);
    cudaDestroyTextureObject(texture);
    return resource.res.array.array;
}
"""
    INVALID = """
## used after its destruction
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectDestroy(texture)
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)  # error: [texture-use-after-destroy]

## destroyed by another thread
array = cu.array()
texture = cu.texture(array)
cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuTexObjectDestroy(texture)))
cu.cuTexObjectGetResourceDesc(cu.host(144), texture)  # error: [texture-use-after-destroy]

## C++: asked after the destruction [cuda]
cudaArray_t pixels_of(const cudaResourceDesc *pixels, const cudaTextureDesc *description) {
    cudaTextureObject_t texture;
    cudaResourceDesc resource;
    cudaCreateTextureObject(&texture, pixels, description, nullptr);
    sample<<<1, 256>>>(texture);
    cudaDestroyTextureObject(texture);
    cudaGetTextureObjectResourceDesc(&resource, texture);  // error: [texture-use-after-destroy]
    return resource.res.array.array;
}

## Python: asked after the destruction [python]
from cuda.bindings import runtime as cudart

def pixels_of(pixels, description, sample):
    error, texture = cudart.cudaCreateTextureObject(pixels, description, None)
    sample(texture)
    error, = cudart.cudaDestroyTextureObject(texture)
    error, resource = cudart.cudaGetTextureObjectResourceDesc(texture)  # error: [texture-use-after-destroy]
    return resource

## C#: asked after the destruction [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Sample(CudaResourceDesc pixels, CudaTextureDescriptor description) {
        CUtexObject texture = new CUtexObject();
        Check(TextureObjects.cuTexObjectCreate(ref texture, ref pixels, ref description, IntPtr.Zero));
        Launch(texture);
        Check(TextureObjects.cuTexObjectDestroy(texture));
        Check(TextureObjects.cuTexObjectGetResourceDesc(ref pixels, texture));  // error: [texture-use-after-destroy]
    }
}
"""
