from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, MISTAKEN, NULL_HANDLE, USED_AFTER_CONTEXT, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.ARRAY,
    name="array",
    make="cu.array()",
    use="cu.cuArray3DGetDescriptor(cu.host(40), {})",
    another_use="cu.texture({})",
    end="cu.cuArrayDestroy({})",
    other="cu.cuMemAlloc(4096)",
    cpp=Spelled(
        type="cudaArray_t",
        given="const cudaChannelFormatDesc *format, size_t width, size_t height, cudaChannelFormatDesc *found",
        make="cudaMallocArray(&array, format, width, height)",
        use="cudaGetChannelDesc(found, array)",
        end="cudaFreeArray(array)",
    ),
    python=Spelled(
        given="descriptor",
        make="error, array = driver.cuArrayCreate(descriptor)",
        use="error, found = driver.cuArrayGetDescriptor(array)",
        end="error, = driver.cuArrayDestroy(array)",
    ),
    csharp=Spelled(
        type="CUarray",
        given="CUDAArrayDescriptor descriptor",
        make="ArrayManagement.cuArrayCreate_v2(ref array, ref descriptor)",
        use="ArrayManagement.cuArrayGetDescriptor_v2(ref descriptor, array)",
        end="ArrayManagement.cuArrayDestroy(array)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV461", (CRASH,)),
        Mistake(DESTROYED_TWICE, "CV462", (CRASH,)),
        Mistake(NULL_HANDLE, "CV463", (400,)),
        Mistake(MISTAKEN, "CV464", (400, 1, CRASH), mistaken={Kind.STREAM: (709, 400, 1)}),
        Mistake(USED_AFTER_CONTEXT, "CV465", (709,)),
    ),
)

TEXTS = """
# array-use-after-destroy
why: The handle points at memory that the driver has freed. A copy to such an array, and making a texture of it, were
  measured to die of SIGSEGV inside the driver, with no error code.
measured: a copy to it and a texture of it: SIGSEGV in the driver, no error code (array_use_after_destroy,
  texture_of_destroyed_array)

# array-use-after-destroy: right

## array and texture destroyed in order
note: first what reads the array, then the array
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectDestroy(texture)
cu.cuArrayDestroy(array)

## Python: destroyed after the question [python driver]
def shape(descriptor, work):
    error, array = driver.cuArrayCreate(descriptor)
    work(array)
    error, found = driver.cuArrayGetDescriptor(array)
    error, = driver.cuArrayDestroy(array)
    return found.Width, found.Height

# array-destroy-twice
why: After the first destruction the handle points at memory that the driver has freed: the second was measured to die
  of SIGSEGV inside the driver, with no error code.
measured: SIGSEGV in the driver, no error code (array_destroy_twice_driver)

# array-destroy-twice: right

# array-null-handle
why: No array has the handle NULL. The runtime accepts `cudaFreeArray(NULL)`; `cuArrayDestroy(NULL)` was measured to
  return CUDA_ERROR_INVALID_HANDLE.
measured: destroy and descriptor: CUDA_ERROR_INVALID_HANDLE (array_null)
measured: the runtime's cudaFreeArray(NULL) is accepted (event_destroy_null)

# array-never-created
why: The number names no array. A pointer from `cuMemAlloc` is not an array either.
measured: cuArray3DGetDescriptor of memory from cuMemAlloc: SIGSEGV in the driver, no error code (array_from_memory)
measured: cuArrayGetDescriptor of a stream: CUDA_ERROR_CONTEXT_IS_DESTROYED (stream_as_array)
documented: {invalid_handle}

# array-never-created: right

## C++: a level of a mipmapped array [cuda]
void draw(const cudaChannelFormatDesc *format, cudaExtent extent, unsigned levels) {
    cudaMipmappedArray_t pyramid;
    cudaArray_t level;
    cudaChannelFormatDesc found;
    cudaMallocMipmappedArray(&pyramid, format, extent, levels);
    cudaGetMipmappedArrayLevel(&level, pyramid, 0);
    cudaGetChannelDesc(&found, level);
    cudaFreeMipmappedArray(pyramid);
}

# array-never-created: wrong

## C++: a mipmapped array by cudaFreeArray [cuda]
void draw(const cudaChannelFormatDesc *format, cudaExtent extent, unsigned levels) {
    cudaMipmappedArray_t pyramid;
    cudaMallocMipmappedArray(&pyramid, format, extent, levels);
    paint(pyramid);
    cudaFreeArray((cudaArray_t)pyramid);  // error: [array-never-created]
}

## C++: device memory by cudaFreeArray [cuda]
void draw(size_t bytes) {
    void *pixels;
    cudaMalloc(&pixels, bytes);
    cudaMemset(pixels, 0, bytes);
    cudaFreeArray((cudaArray_t)pixels);  // error: [array-never-created]
}

## Python: device memory by freeArray [python cupy]
def draw(size, paint):
    pixels = runtime.malloc(size)
    paint(pixels)
    runtime.freeArray(pixels)  # error: [array-never-created]

# array-use-after-context-destroy
measured: asking for its descriptor and destroying it: CUDA_ERROR_CONTEXT_IS_DESTROYED (context_gone_array,
  context_gone_array_destroy)
documented: CUDA_ERROR_CONTEXT_IS_DESTROYED among others (CUDA Driver API, Memory Management, cuArrayDestroy)
"""
