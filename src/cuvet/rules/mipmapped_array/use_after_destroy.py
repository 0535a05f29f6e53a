from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy
from cuvet.rules.rule import CRASH


class MipmappedArrayUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a mipmapped array that `cuMipmappedArrayDestroy` destroyed before.

    ## Why it is wrong
    The handle points at memory that the driver has given back. Asking for one of its levels was measured to die
    of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Destroy the mipmapped array after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV471"
    name = "mipmapped-array-use-after-destroy"
    severity = "error"
    summary = "a mipmapped array is used after it was destroyed"
    help = "destroy the mipmapped array after its last use, or clear the variable that still holds it"
    kind = Kind.MIPMAPPED_ARRAY
    outcomes = (CRASH,)
    evidence = """
    measured: asking for a level: SIGSEGV in the driver, no error code (mipmapped_use_after_destroy)
    """
    VALID = """
## destroyed after its last use
array = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)

## level read before the destruction
note: levels belong to their mipmapped array and are not destroyed themselves
array = cu.mipmapped_array()
level = cu.cuMipmappedArrayGetLevel(array, 1)
cu.cuArray3DGetDescriptor(cu.host(40), level)
cu.cuMipmappedArrayDestroy(array)

## handle issued again
note: the new one often has the old handle value
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)
array = cu.mipmapped_array()
cu.cuMipmappedArrayGetLevel(array, 0)
cu.cuMipmappedArrayDestroy(array)

## C++: freed after its levels were used [cuda]
void draw(const cudaChannelFormatDesc *format, cudaExtent extent, unsigned levels) {
    cudaMipmappedArray_t pyramid;
    cudaMallocMipmappedArray(&pyramid, format, extent, levels);
    for (unsigned i = 0; i < levels; ++i) {
        cudaArray_t level;
        cudaGetMipmappedArrayLevel(&level, pyramid, i);
        paint(level);
    }
    cudaFreeMipmappedArray(pyramid);
}
"""
    INVALID = """
## used after its destruction
array = cu.mipmapped_array()
cu.cuMipmappedArrayDestroy(array)
cu.cuMipmappedArrayGetLevel(array, 0)  # error: [mipmapped-array-use-after-destroy]

## destroyed by another thread
array = cu.mipmapped_array()
cu.in_thread(lambda: cu.cuMipmappedArrayDestroy(array))
cu.cuMipmappedArrayGetLevel(array, 0)  # error: [mipmapped-array-use-after-destroy]

## C++: a level of a freed one [cuda]
void draw(const cudaChannelFormatDesc *format, cudaExtent extent, unsigned levels) {
    cudaMipmappedArray_t pyramid;
    cudaArray_t level;
    cudaMallocMipmappedArray(&pyramid, format, extent, levels);
    cudaFreeMipmappedArray(pyramid);
    cudaGetMipmappedArrayLevel(&level, pyramid, 0);  // error: [mipmapped-array-use-after-destroy]
    paint(level);
}

## Python: a level of a destroyed one [python]
from cuda.bindings import driver

def draw(descriptor, levels, paint):
    error, pyramid = driver.cuMipmappedArrayCreate(descriptor, levels)
    error, = driver.cuMipmappedArrayDestroy(pyramid)
    error, level = driver.cuMipmappedArrayGetLevel(pyramid, 0)  # error: [mipmapped-array-use-after-destroy]
    paint(level)

## C#: a level of a destroyed one [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Draw(CUDAArray3DDescriptor descriptor) {
        CUmipmappedArray pyramid = new CUmipmappedArray();
        CUarray level = new CUarray();
        Check(ArrayManagement.cuMipmappedArrayCreate(ref pyramid, ref descriptor, 4));
        Check(ArrayManagement.cuMipmappedArrayDestroy(pyramid));
        Check(ArrayManagement.cuMipmappedArrayGetLevel(ref level, pyramid, 0));  // error: [mipmapped-array-use-after-destroy]
    }
}
"""
