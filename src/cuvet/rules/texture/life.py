from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_CONTEXT, USED_AFTER_DESTROY
from cuvet.rules.lifecycle import USES
from cuvet.rules.lives import Life, Mistake, Spelled


def mistakes(used: str, twice: str, null: str, never: str, gone: str, *, asking: str) -> tuple[Mistake, ...]:
    """Of texture and surface objects, which live alike, with their codes. ``asking`` is the call that tells what one is made of."""
    return (
        Mistake(USED_AFTER_DESTROY, used, (1,)),
        Mistake(DESTROYED_TWICE, twice),
        Mistake(NULL_HANDLE, null, (1,), only_if_failed=True, without=("destroyed",)),
        Mistake(NEVER_CREATED, never, (1, 400), verbs=USES),
        Mistake(USED_AFTER_CONTEXT, gone, outcomes_of={asking: (1,)}),
    )


def texts(name: str, asking: str) -> str:
    """The texts of these mistakes."""
    return _TEXTS.replace("{name}", name).replace("{asking}", asking)


_TEXTS = """
# {name}-use-after-destroy
why: The number names no {name} any more, or names the next {name} that is created.
measured: asking for its resource: CUDA_ERROR_INVALID_VALUE ({name}_use_after_destroy)
documented: {undefined}

# {name}-destroy-twice
why: The driver was measured to accept it without an error. But {noun}s are numbers that are issued again: if a {name} was
  created in between, the second destruction ends that one.
measured, succeeds: accepted without an error (texobj_destroy_twice, surface_destroy_twice)
documented: {undefined}

# {name}-null-handle
help: look at the status of the call that should have made the {noun}
why: No {noun} has the number 0. The call returns CUDA_ERROR_INVALID_VALUE.
limits: Reported only when the call fails. `{ends}` takes 0.
recorded: asking 0 for its resource: CUDA_ERROR_INVALID_VALUE

# {name}-never-created
why: The number names no {noun}. The array of a {name} is not the {name}.
measured: asking a stale one for its resource: CUDA_ERROR_INVALID_VALUE ({name}_use_after_destroy)
measured: destroying a number that names none is accepted (texture_null)

# {name}-use-after-context-destroy
measured: {asking}: CUDA_ERROR_INVALID_VALUE (context_gone_{name}_asked)
measured, {ends} succeeds: {ends}: accepted without an error (context_gone_{name}_destroy)
"""

LIFE = Life(
    kind=Kind.TEXTURE_OBJECT,
    name="texture",
    make="cu.texture(cu.array())",
    use="cu.cuTexObjectGetResourceDesc(cu.host(144), {})",
    end="cu.cuTexObjectDestroy({})",
    ends_in_context=True,
    other="cu.array()",
    null="0",
    undefined="CUDA Runtime API, Texture Object Management, cudaDestroyTextureObject",
    cpp=Spelled(
        type="cudaTextureObject_t",
        given="const cudaResourceDesc *pixels, const cudaTextureDesc *description, cudaResourceDesc *found",
        make="cudaCreateTextureObject(&texture, pixels, description, nullptr)",
        use="cudaGetTextureObjectResourceDesc(found, texture)",
        end="cudaDestroyTextureObject(texture)",
    ),
    python=Spelled(
        given="pixels, description",
        make="error, texture = driver.cuTexObjectCreate(pixels, description, None)",
        use="error, found = driver.cuTexObjectGetResourceDesc(texture)",
        end="error, = driver.cuTexObjectDestroy(texture)",
    ),
    csharp=Spelled(
        type="CUtexObject",
        given="CudaResourceDesc pixels, CudaTextureDescriptor description",
        make="TextureObjects.cuTexObjectCreate(ref texture, ref pixels, ref description, IntPtr.Zero)",
        use="TextureObjects.cuTexObjectGetResourceDesc(ref pixels, texture)",
        end="TextureObjects.cuTexObjectDestroy(texture)",
    ),
    mistakes=mistakes("CV481", "CV482", "CV483", "CV484", "CV485", asking="cuTexObjectGetResourceDesc"),
)

TEXTS = (
    texts("texture", "cuTexObjectGetResourceDesc")
    + """
# texture-use-after-destroy: right

## the array goes after its textures
note: two textures of one array
array = cu.array()
first = cu.texture(array)
second = cu.texture(array)
cu.cuTexObjectDestroy(first)
cu.cuTexObjectDestroy(second)
cu.cuArrayDestroy(array)

# texture-destroy-twice: right

## Python: in finally alone [python cupy]
def blend(pixels, description, sample):
    texture = runtime.createTextureObject(pixels, description)
    try:
        sample(texture)
    finally:
        runtime.destroyTextureObject(texture)

# texture-null-handle: right

## destroyed
cu.cuTexObjectDestroy(0)

# texture-never-created: right

## C++: the surface's own function [cuda]
void inspect(const cudaResourceDesc *pixels) {
    cudaSurfaceObject_t surface;
    cudaResourceDesc resource;
    cudaCreateSurfaceObject(&surface, pixels);
    cudaGetSurfaceObjectResourceDesc(&resource, surface);
    cudaDestroySurfaceObject(surface);
}

# texture-never-created: wrong

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
)
