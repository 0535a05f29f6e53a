from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated


class ArrayNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs an array is given the handle of something else, and the call fails or crashes.

    ## Why it is wrong
    The number names no array. A pointer from `cuMemAlloc` is not an array either.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the array, and pass
    handles with their own types rather than as integers.

    ## Limits
    A number that is no handle at all is not reported: arrays may be made in ways that cannot be seen.
    """

    code = "CV464"
    name = "array-never-created"
    severity = "error"
    summary = "the handle of something else is given where an array is wanted"
    help = "initialise the variable, and look at the status of the call that should have made the array"
    kind = Kind.ARRAY
    outcomes = (400, 1)
    evidence = """
    documented: This indicates that a resource handle passed to the API call was not valid. Resource handles are opaque
      types like CUstream and CUevent. (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)
    """
    VALID = """
## created first
array = cu.array()
cu.cuArray3DGetDescriptor(cu.host(40), array)
cu.cuArrayDestroy(array)

## created by another thread
array = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.array())[1])
cu.cuArray3DGetDescriptor(cu.host(40), array)
cu.cuArrayDestroy(array)

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
"""
    INVALID = """
## an object of another kind
other = cu.cuMemAlloc(4096)
cu.cuArray3DGetDescriptor(cu.host(40), other)  # error: [array-never-created]

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

## Python: device memory by freeArray [python]
from cupy.cuda import runtime

def draw(size, paint):
    pixels = runtime.malloc(size)
    paint(pixels)
    runtime.freeArray(pixels)  # error: [array-never-created]
"""
