from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH


class ArrayDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuArrayDestroy` is called with an array that was destroyed before.

    ## Why it is wrong
    After the first destruction the handle points at memory that the driver has given back: the second was
    measured to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Give the array one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV462"
    name = "array-destroy-twice"
    severity = "error"
    summary = "an array is destroyed twice"
    help = "let one owner destroy the array, and clear its handle at that moment"
    kind = Kind.ARRAY
    outcomes = (CRASH,)
    evidence = """
    measured: SIGSEGV in the driver, no error code (array_destroy_twice_driver)
    """
    VALID = """
## destroyed once
array = cu.array()
cu.cuArrayDestroy(array)

## handle issued again
note: the new one often has the old handle value
array = cu.array()
cu.cuArrayDestroy(array)
array = cu.array()
cu.cuArrayDestroy(array)

## C++: made again before it is freed again [cuda]
void resize(cudaArray_t *pixels, const cudaChannelFormatDesc *format, size_t width, size_t height) {
    cudaFreeArray(*pixels);
    cudaMallocArray(pixels, format, width, height);
    if (!paint(*pixels)) {
        cudaFreeArray(*pixels);
        *pixels = nullptr;
    }
}
"""
    INVALID = """
## destroyed twice
array = cu.array()
cu.cuArrayDestroy(array)
cu.cuArrayDestroy(array)  # error: [array-destroy-twice]

## destroyed by two threads
array = cu.array()
cu.in_thread(lambda: cu.cuArrayDestroy(array))
cu.cuArrayDestroy(array)  # error: [array-destroy-twice]

## C++: in a branch and at the end [cuda]
void draw(const cudaChannelFormatDesc *format, size_t width, size_t height) {
    cudaArray_t pixels;
    cudaMallocArray(&pixels, format, width, height);
    if (!paint(pixels))
        cudaFreeArray(pixels);
    cudaFreeArray(pixels);  // error: [array-destroy-twice]
}

## Python: CuPy's runtime [python]
from cupy.cuda import runtime

def draw(descriptor, width, height, paint):
    array = runtime.mallocArray(descriptor, width, height, 0)
    paint(array)
    runtime.freeArray(array)
    runtime.freeArray(array)  # error: [array-destroy-twice]

## C#: in the block and in finally [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Draw(CUDAArrayDescriptor descriptor) {
        CUarray array = new CUarray();
        Check(ArrayManagement.cuArrayCreate_v2(ref array, ref descriptor));
        try {
            Paint(array);
            Check(ArrayManagement.cuArrayDestroy(array));
        } finally {
            Check(ArrayManagement.cuArrayDestroy(array));  // error: [array-destroy-twice]
        }
    }
}
"""
