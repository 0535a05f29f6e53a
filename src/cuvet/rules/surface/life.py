from cuvet.catalog.roles import Kind
from cuvet.rules.lives import Life, Spelled
from cuvet.rules.texture.life import mistakes, texts

LIFE = Life(
    kind=Kind.SURFACE_OBJECT,
    name="surface",
    make="cu.surface(cu.array())",
    use="cu.cuSurfObjectGetResourceDesc(cu.host(144), {})",
    end="cu.cuSurfObjectDestroy({})",
    ends_in_context=True,
    other="cu.array()",
    null="0",
    undefined="CUDA Runtime API, Surface Object Management, cudaDestroySurfaceObject",
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
    mistakes=mistakes("CV491", "CV492", "CV493", "CV494", "CV495", asking="cuSurfObjectGetResourceDesc"),
)

TEXTS = (
    texts("surface", "cuSurfObjectGetResourceDesc")
    + """
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
)
