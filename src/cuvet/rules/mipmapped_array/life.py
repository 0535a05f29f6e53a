from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_CONTEXT, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.MIPMAPPED_ARRAY,
    name="mipmapped-array",
    make="cu.mipmapped_array()",
    use="cu.cuMipmappedArrayGetLevel({}, 0)",
    end="cu.cuMipmappedArrayDestroy({})",
    variable="array",
    other="cu.array()",
    cpp=Spelled(
        type="cudaMipmappedArray_t",
        given="const cudaChannelFormatDesc *format, cudaExtent extent, cudaArray_t *level",
        make="cudaMallocMipmappedArray(&array, format, extent, 4)",
        use="cudaGetMipmappedArrayLevel(level, array, 0)",
        end="cudaFreeMipmappedArray(array)",
    ),
    python=Spelled(
        given="descriptor",
        make="error, array = driver.cuMipmappedArrayCreate(descriptor, 4)",
        use="error, level = driver.cuMipmappedArrayGetLevel(array, 0)",
        end="error, = driver.cuMipmappedArrayDestroy(array)",
    ),
    csharp=Spelled(
        type="CUmipmappedArray",
        given="CUDAArray3DDescriptor descriptor, CUarray level",
        make="ArrayManagement.cuMipmappedArrayCreate(ref array, ref descriptor, 4)",
        use="ArrayManagement.cuMipmappedArrayGetLevel(ref level, array, 0)",
        end="ArrayManagement.cuMipmappedArrayDestroy(array)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV471", (CRASH,)),
        Mistake(DESTROYED_TWICE, "CV472", (CRASH,)),
        Mistake(NULL_HANDLE, "CV473", (400, 1), only_if_failed=True, undefined=True),
        Mistake(NEVER_CREATED, "CV474", (400, 1, CRASH)),
        Mistake(USED_AFTER_CONTEXT, "CV475", (709,)),
    ),
)

TEXTS = """
# mipmapped-array-use-after-destroy
why: The handle points at memory that the driver has freed. Asking for one of its levels was measured to die of SIGSEGV
  inside the driver, with no error code.
measured: asking for a level: SIGSEGV in the driver, no error code (mipmapped_use_after_destroy)

# mipmapped-array-use-after-destroy: right

## level read before the destruction
note: levels belong to their mipmapped array and are not destroyed themselves
array = cu.mipmapped_array()
level = cu.cuMipmappedArrayGetLevel(array, 1)
cu.cuArray3DGetDescriptor(cu.host(40), level)
cu.cuMipmappedArrayDestroy(array)

# mipmapped-array-destroy-twice
why: After the first destruction the handle points at memory that the driver has freed: the second was measured to die
  of SIGSEGV inside the driver, with no error code.
measured: SIGSEGV in the driver, no error code (mipmapped_destroy_twice)

# mipmapped-array-null-handle
why: No mipmapped array has the handle NULL; CUDA_ERROR_INVALID_HANDLE is documented for handles that are not valid.
limits: Not every call was measured, so it is reported only when the call fails or crashes.
measured: cuMipmappedArrayGetLevel and cuMipmappedArrayDestroy of NULL: CUDA_ERROR_INVALID_HANDLE (mipmapped_null)
documented: {invalid_handle}

# mipmapped-array-never-created
why: The number names no mipmapped array. An ordinary array is not a mipmapped one.
measured: cuMipmappedArrayGetLevel of a number from nowhere: SIGSEGV in the driver (mipmapped_from_nowhere)
documented: {invalid_handle}

# mipmapped-array-never-created: right

## C++: each by its counterpart [cuda]
void draw(const cudaChannelFormatDesc *format, cudaExtent extent, unsigned levels) {
    cudaMipmappedArray_t pyramid;
    cudaArray_t pixels;
    cudaMallocMipmappedArray(&pyramid, format, extent, levels);
    cudaMallocArray(&pixels, format, extent.width, extent.height);
    paint(pyramid, pixels);
    cudaFreeArray(pixels);
    cudaFreeMipmappedArray(pyramid);
}

# mipmapped-array-never-created: wrong

## C++: an array by cudaFreeMipmappedArray [cuda]
void draw(const cudaChannelFormatDesc *format, size_t width, size_t height) {
    cudaArray_t pixels;
    cudaMallocArray(&pixels, format, width, height);
    paint(pixels);
    cudaFreeMipmappedArray((cudaMipmappedArray_t)pixels);  // error: [mipmapped-array-never-created]
}

## C#: handles as IntPtr [c#]
class Image {
    [DllImport("nvcuda", EntryPoint = "cuArrayCreate_v2")] static extern int Create(out IntPtr array, ref Descriptor descriptor);
    [DllImport("nvcuda", EntryPoint = "cuMipmappedArrayDestroy")] static extern int Destroy(IntPtr array);

    void Draw(Descriptor descriptor) {
        Check(Create(out IntPtr array, ref descriptor));
        Paint(array);
        Check(Destroy(array));  // error: [mipmapped-array-never-created]
    }
}

# mipmapped-array-use-after-context-destroy
"""
