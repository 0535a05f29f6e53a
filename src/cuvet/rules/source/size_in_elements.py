from cuvet.rules.rule import SourceRule


class SourceSizeInElements(SourceRule):
    """
    checks: A function allocates memory with one size, and copies or sets it with the same expression times ``sizeof`` (or the reverse).
      In Python: with ``size`` or ``len`` of an array, and with its ``nbytes``.
    why: CUDA counts bytes. Either the memory is too small for the copy, or most of it is not copied.
    instead: Use the number of elements times ``sizeof`` of one in both places.
    limits: Only where both sizes are in one function and differ by nothing else. In Python, silent in functions that mention bytes.
    """

    code = "CV868"
    severity = "warning"
    summary = "a size is in elements instead of bytes"
    help = "multiply the number of elements by the size of one"
    evidence = """
    documented: size is the allocation size in bytes (CUDA Runtime API, Memory Management, cudaMalloc)
    documented: nbytes: total bytes consumed by the elements of the array (NumPy documentation, numpy.ndarray.nbytes)
    documented: cudaMemcpy: count is the size in bytes to copy (CUDA Runtime API, Memory Management, cudaMemcpy)
    """
    VALID = """
## bytes in both places [cuda]
float *upload(const float *host, int n) {
    float *values;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    CHECK(cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice));
    return values;
}

## elements of one byte [cuda]
char *upload(const char *host, int n) {
    char *values;
    CHECK(cudaMalloc(&values, n));
    CHECK(cudaMemcpy(values, host, n * sizeof(char), cudaMemcpyHostToDevice));
    return values;
}

## a part of it [cuda]
float *upload(const float *host, int n, int first) {
    float *values;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    CHECK(cudaMemcpy(values, host, first * sizeof(float), cudaMemcpyHostToDevice));
    return values;
}

## C#: bytes, and an array of bytes [c# method]
unsafe void Upload(IntPtr values, float[] host, byte[] mask)
{
    fixed (float* first = host)
        Check(cudaMemcpy(values, (IntPtr)first, (nuint)(host.Length * sizeof(float)), 1));
    fixed (byte* first = mask)
        Check(cudaMemcpy(values, (IntPtr)first, (nuint)mask.Length, 1));
}

## C#: as long as another array [c# method]
unsafe void Upload(IntPtr values, float[] host, int[] counts)
{
    fixed (float* first = host)
        Check(cudaMemcpy(values, (IntPtr)first, (nuint)counts.Length, 1));
}

## Python: bytes, and an array of bytes [python cudart]
def upload(values, count):
    host = np.ones(count, dtype=np.float32)
    error, = cudart.cudaMemcpy(values, host.ctypes.data, host.nbytes, H2D)
    mask = np.ones(count, dtype=np.uint8)
    error, = cudart.cudaMemcpy(values, mask.ctypes.data, mask.size, H2D)
"""
    INVALID = """
## allocated too small [cuda]
float *upload(const float *host, int n) {
    float *values;
    CHECK(cudaMalloc(&values, n));  // warning: [source-size-in-elements]
    CHECK(cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice));
    return values;
}

## copied in part [cuda]
float *upload(const float *host, int n) {
    float *values;
    CHECK(cudaMalloc((void **)&values, sizeof(float) * n));
    CHECK(cudaMemcpy(values, host, n, cudaMemcpyHostToDevice));  // warning: [source-size-in-elements]
    return values;
}

## C#: the length of the array [c# method]
unsafe void Upload(IntPtr values, float[] host)
{
    fixed (float* first = host)
        Check(cudaMemcpy(values, (IntPtr)first, (nuint)host.Length, 1));  // warning: [source-size-in-elements]
}

## Python: the size of the array [python cudart]
def upload(values, count):
    host = np.ones(count, dtype=np.float32)
    error, = cudart.cudaMemcpy(values, host.ctypes.data, host.size, H2D)  # warning: [source-size-in-elements]
"""
