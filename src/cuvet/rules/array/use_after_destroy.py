from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy
from cuvet.rules.rule import CRASH


class ArrayUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names an array that `cuArrayDestroy` destroyed before.

    ## Why it is wrong
    The handle points at memory that the driver has given back. A copy to such an array, and making a texture of
    it, were measured to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Destroy the array after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV461"
    name = "array-use-after-destroy"
    severity = "error"
    summary = "an array is used after it was destroyed"
    help = "destroy the array after its last use, or clear the variable that still holds it"
    kind = Kind.ARRAY
    outcomes = (CRASH,)
    evidence = """
    measured: a copy to it and a texture of it: SIGSEGV in the driver, no error code (array_use_after_destroy,
      texture_of_destroyed_array)
    """
    VALID = """
## destroyed after its last use
array = cu.array()
cu.cuArray3DGetDescriptor(cu.host(40), array)
cu.cuArrayDestroy(array)

## array and texture destroyed in order
note: first what reads the array, then the array
array = cu.array()
texture = cu.texture(array)
cu.cuTexObjectDestroy(texture)
cu.cuArrayDestroy(array)

## handle issued again
note: the new one often has the old handle value
array = cu.array()
cu.cuArrayDestroy(array)
array = cu.array()
cu.cuArray3DGetDescriptor(cu.host(40), array)
cu.cuArrayDestroy(array)

## C++: freed after the copy [cuda]
void upload(const cudaChannelFormatDesc *format, const float *host, size_t width, size_t height) {
    cudaArray_t pixels;
    size_t row = width * sizeof(float);
    cudaMallocArray(&pixels, format, width, height);
    cudaMemcpy2DToArray(pixels, 0, 0, host, row, row, height, cudaMemcpyHostToDevice);
    paint(pixels);
    cudaFreeArray(pixels);
}

## Python: destroyed after the question [python]
from cuda.bindings import driver

def shape(descriptor, work):
    error, array = driver.cuArrayCreate(descriptor)
    work(array)
    error, found = driver.cuArrayGetDescriptor(array)
    error, = driver.cuArrayDestroy(array)
    return found.Width, found.Height
"""
    INVALID = """
## used after its destruction
array = cu.array()
cu.cuArrayDestroy(array)
cu.cuArray3DGetDescriptor(cu.host(40), array)  # error: [array-use-after-destroy]

## used in another way
array = cu.array()
cu.cuArrayDestroy(array)
cu.texture(array)  # error: [array-use-after-destroy]

## destroyed by another thread
array = cu.array()
cu.in_thread(lambda: cu.cuArrayDestroy(array))
cu.cuArray3DGetDescriptor(cu.host(40), array)  # error: [array-use-after-destroy]

## C++: copied to after it was freed [cuda]
void upload(const cudaChannelFormatDesc *format, const float *host, size_t width, size_t height) {
    cudaArray_t pixels;
    size_t row = width * sizeof(float);
    cudaMallocArray(&pixels, format, width, height);
    cudaFreeArray(pixels);
    cudaMemcpy2DToArray(pixels, 0, 0, host, row, row, height, cudaMemcpyHostToDevice);  // error: [array-use-after-destroy]
}

## Python: asked after the destruction [python]
from cuda.bindings import driver

def shape(descriptor, work):
    error, array = driver.cuArrayCreate(descriptor)
    work(array)
    error, = driver.cuArrayDestroy(array)
    error, found = driver.cuArrayGetDescriptor(array)  # error: [array-use-after-destroy]
    return found.Width, found.Height

## C#: asked after the destruction [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Image {
    void Draw(CUDAArrayDescriptor descriptor) {
        CUarray array = new CUarray();
        Check(ArrayManagement.cuArrayCreate_v2(ref array, ref descriptor));
        Paint(array);
        Check(ArrayManagement.cuArrayDestroy(array));
        Check(ArrayManagement.cuArrayGetDescriptor_v2(ref descriptor, array));  // error: [array-use-after-destroy]
    }
}
"""
