from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH


class MipmappedArrayDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuMipmappedArrayDestroy` is called with a mipmapped array that was destroyed before.

    ## Why it is wrong
    After the first destruction the handle points at memory that the driver has given back: the second was
    measured to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Give the mipmapped array one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV472"
    name = "mipmapped-array-destroy-twice"
    severity = "error"
    summary = "a mipmapped array is destroyed twice"
    help = "let one owner destroy the mipmapped array, and clear its handle at that moment"
    kind = Kind.MIPMAPPED_ARRAY
    outcomes = (CRASH,)
    evidence = """
    measured: SIGSEGV in the driver, no error code (mipmapped_destroy_twice)
    """
    VALID = """
## destroyed once
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)

## handle issued again
note: the new one often has the old handle value
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)

## C++: freed once [cuda]
void draw(const cudaChannelFormatDesc *format, cudaExtent extent, unsigned levels) {
    cudaMipmappedArray_t pyramid;
    cudaMallocMipmappedArray(&pyramid, format, extent, levels);
    paint(pyramid);
    cudaFreeMipmappedArray(pyramid);
}
"""
    INVALID = """
## destroyed twice
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)
cu.cuMipmappedArrayDestroy(array)  # error: [mipmapped-array-destroy-twice]

## destroyed by two threads
array = cu.mipmapped_array()
cu.in_thread(lambda: cu.cuMipmappedArrayDestroy(array))
cu.cuMipmappedArrayDestroy(array)  # error: [mipmapped-array-destroy-twice]

## C++: in a branch and at the end [cuda]
void draw(const cudaChannelFormatDesc *format, cudaExtent extent, unsigned levels) {
    cudaMipmappedArray_t pyramid;
    cudaMallocMipmappedArray(&pyramid, format, extent, levels);
    if (!paint(pyramid))
        cudaFreeMipmappedArray(pyramid);
    cudaFreeMipmappedArray(pyramid);  // error: [mipmapped-array-destroy-twice]
}

## Python: in the block and in finally [python]
from cuda.bindings import driver

def draw(descriptor, levels, paint):
    error, pyramid = driver.cuMipmappedArrayCreate(descriptor, levels)
    try:
        paint(pyramid)
        error, = driver.cuMipmappedArrayDestroy(pyramid)
    finally:
        error, = driver.cuMipmappedArrayDestroy(pyramid)  # error: [mipmapped-array-destroy-twice]

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Draw(CUDAArray3DDescriptor descriptor) {
        CUmipmappedArray pyramid = new CUmipmappedArray();
        Check(ArrayManagement.cuMipmappedArrayCreate(ref pyramid, ref descriptor, 4));
        Paint(pyramid);
        Check(ArrayManagement.cuMipmappedArrayDestroy(pyramid));
        Check(ArrayManagement.cuMipmappedArrayDestroy(pyramid));  // error: [mipmapped-array-destroy-twice]
    }
}
"""
