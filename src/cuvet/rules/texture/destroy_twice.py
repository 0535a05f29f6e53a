from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice


class TextureDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuTexObjectDestroy` is called with a texture object that was destroyed before.

    ## Why it is wrong
    The driver was measured to accept it in silence. But texture objects are numbers that are given out again:
    if a texture was created in between, the second destruction ends that one.

    ## Use instead
    Give the texture object one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV482"
    name = "texture-destroy-twice"
    severity = "error"
    summary = "a texture object is destroyed twice"
    help = "let one owner destroy the texture object, and clear its handle at that moment"
    kind = Kind.TEXTURE_OBJECT
    evidence = """
    measured, succeeds: accepted without an error (texobj_destroy_twice)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Texture Object Management,
      cudaDestroyTextureObject)
    """
    VALID = """
## destroyed once
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectDestroy(texture)

## handle issued again
note: the new one often has the old handle value
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectDestroy(texture)
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectDestroy(texture)

## C++: each once [cuda]
void blend(const cudaResourceDesc *front, const cudaResourceDesc *back, const cudaTextureDesc *description) {
    cudaTextureObject_t upper, lower;
    cudaCreateTextureObject(&upper, front, description, nullptr);
    cudaCreateTextureObject(&lower, back, description, nullptr);
    sample<<<1, 256>>>(upper, lower);
    cudaDestroyTextureObject(upper);
    cudaDestroyTextureObject(lower);
}

## Python: in finally alone [python]
from cupy.cuda import runtime

def blend(pixels, description, sample):
    texture = runtime.createTextureObject(pixels, description)
    try:
        sample(texture)
    finally:
        runtime.destroyTextureObject(texture)
"""
    INVALID = """
## destroyed twice
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectDestroy(texture)
cu.cuTexObjectDestroy(texture)  # error: [texture-destroy-twice]

## destroyed by two threads
array = cu.array()
texture = cu.texture(array)
cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuTexObjectDestroy(texture)))
cu.cuTexObjectDestroy(texture)  # error: [texture-destroy-twice]

## C++: one of two textures twice [cuda]
void blend(const cudaResourceDesc *front, const cudaResourceDesc *back, const cudaTextureDesc *description) {
    cudaTextureObject_t upper, lower;
    cudaCreateTextureObject(&upper, front, description, nullptr);
    cudaCreateTextureObject(&lower, back, description, nullptr);
    sample<<<1, 256>>>(upper, lower);
    cudaDestroyTextureObject(upper);
    cudaDestroyTextureObject(upper);  // error: [texture-destroy-twice]
    cudaDestroyTextureObject(lower);
}

## Python: CuPy's runtime [python]
from cupy.cuda import runtime

def blend(pixels, description, sample):
    texture = runtime.createTextureObject(pixels, description)
    try:
        sample(texture)
        runtime.destroyTextureObject(texture)
    finally:
        runtime.destroyTextureObject(texture)  # error: [texture-destroy-twice]

## C#: in the block and in finally [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Sample(CudaResourceDesc pixels, CudaTextureDescriptor description) {
        CUtexObject texture = new CUtexObject();
        Check(TextureObjects.cuTexObjectCreate(ref texture, ref pixels, ref description, IntPtr.Zero));
        try {
            Launch(texture);
            Check(TextureObjects.cuTexObjectDestroy(texture));
        } finally {
            Check(TextureObjects.cuTexObjectDestroy(texture));  // error: [texture-destroy-twice]
        }
    }
}
"""
