from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_CONTEXT, USED_AFTER_DESTROY
from cuvet.rules.lifecycle import USES
from cuvet.rules.lives import Life, Mistake, Spelled

LIFE = Life(
    kind=Kind.SURFACE_OBJECT,
    name="surface",
    make="cu.surface(cu.array())",
    use="cu.cuSurfObjectGetResourceDesc(cu.host(144), {})",
    end="cu.cuSurfObjectDestroy({})",
    ends_in_context=True,
    other="cu.array()",
    null="0",
    cpp=Spelled(
        type="cudaSurfaceObject_t",
        given="const cudaResourceDesc *pixels, cudaResourceDesc *found",
        make="cudaCreateSurfaceObject(&surface, pixels)",
        use="cudaGetSurfaceObjectResourceDesc(found, surface)",
        end="cudaDestroySurfaceObject(surface)",
    ),
    python=Spelled(
        given="pixels",
        make="error, surface = driver.cuSurfObjectCreate(pixels)",
        use="error, found = driver.cuSurfObjectGetResourceDesc(surface)",
        end="error, = driver.cuSurfObjectDestroy(surface)",
    ),
    csharp=Spelled(
        type="CUsurfObject",
        given="CudaResourceDesc pixels",
        make="SurfaceObjects.cuSurfObjectCreate(ref surface, ref pixels)",
        use="SurfaceObjects.cuSurfObjectGetResourceDesc(ref pixels, surface)",
        end="SurfaceObjects.cuSurfObjectDestroy(surface)",
    ),
    mistakes=(
        Mistake(
            USED_AFTER_DESTROY,
            "CV491",
            """
            why: The number names no surface any more, or names the next surface that is created.
            measured: asking for its resource: CUDA_ERROR_INVALID_VALUE (surface_use_after_destroy)
            documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Surface Object
              Management, cudaDestroySurfaceObject)
            """,
            outcomes=(1,),
        ),
        Mistake(
            DESTROYED_TWICE,
            "CV492",
            """
            why: The driver was measured to accept it in silence. But surface objects are numbers that are given out
              again: if a surface was created in between, the second destruction ends that one.
            measured, succeeds: accepted without an error (surface_destroy_twice)
            documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Surface Object
              Management, cudaDestroySurfaceObject)
            """,
        ),
        Mistake(
            NULL_HANDLE,
            "CV493",
            """
            help: look at the status of the call that should have made the surface object
            why: No surface object has the number 0. The call returns CUDA_ERROR_INVALID_VALUE.
            limits: Reported only when the call fails. `cuSurfObjectDestroy` takes 0.
            recorded: asking 0 for what it reads: CUDA_ERROR_INVALID_VALUE
            """,
            outcomes=(1,),
            only_if_failed=True,
            without=("destroyed",),
        ),
        Mistake(
            NEVER_CREATED,
            "CV494",
            """
            why: The number names no surface object. The array that a surface writes is not the surface.
            measured: asking a stale one for its resource: CUDA_ERROR_INVALID_VALUE (surface_use_after_destroy)
            measured: destroying a number that names none is accepted (texture_null)
            """,
            outcomes=(1, 400),
            verbs=USES,
        ),
        Mistake(
            USED_AFTER_CONTEXT,
            "CV495",
            """
            why: Destroying a context destroys its surface objects. What a later call with one of them does is
              documented as undefined.
            measured: cuSurfObjectGetResourceDesc: CUDA_ERROR_INVALID_VALUE (context_gone_surface_asked)
            measured, cuSurfObjectDestroy succeeds: cuSurfObjectDestroy: accepted without an error
              (context_gone_surface_destroy)
            """,
            outcomes_of={"cuSurfObjectGetResourceDesc": (1,)},
        ),
    ),
)

EXAMPLES = """
# surface-use-after-destroy: right

## the array goes after its surfaces
note: two surfaces of one array
array = cu.array()
first = cu.surface(array)
second = cu.surface(array)
cu.cuSurfObjectDestroy(first)
cu.cuSurfObjectDestroy(second)
cu.cuArrayDestroy(array)

# surface-null-handle: right

## destroyed
cu.cuSurfObjectDestroy(0)

# surface-never-created: right

## C++: the texture's own function [cuda]
void inspect(const cudaResourceDesc *pixels, const cudaTextureDesc *description) {
    cudaTextureObject_t texture;
    cudaResourceDesc resource;
    cudaCreateTextureObject(&texture, pixels, description, nullptr);
    cudaGetTextureObjectResourceDesc(&resource, texture);
    cudaDestroyTextureObject(texture);
}

# surface-never-created: wrong

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
