from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated


class MipmappedArrayNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a mipmapped array is given a number that no call handed out as one, and the call fails or
    crashes.

    ## Why it is wrong
    The number names no mipmapped array. An ordinary array is not a mipmapped one.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the mipmapped array,
    and pass handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV474"
    name = "mipmapped-array-never-created"
    severity = "error"
    summary = "a mipmapped array is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the mipmapped array"
    kind = Kind.MIPMAPPED_ARRAY
    outcomes = (400, 1)
    evidence = """
    documented: This indicates that a resource handle passed to the API call was not valid. Resource handles are opaque
      types like CUstream and CUevent. (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)
    """
    VALID = """
## created first
array = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)

## created by another thread
array = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.mipmapped_array())[1])
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)

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
"""
    INVALID = """
## a number from nowhere
cu.cuMipmappedArrayGetLevel(0x1234567000, 0)  # error: [mipmapped-array-never-created]

## an object of another kind
other = cu.array()
cu.cuMipmappedArrayGetLevel(other, 0)  # error: [mipmapped-array-never-created]

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
"""
