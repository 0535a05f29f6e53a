from cuvet.rules.rule import SourceRule


class SourceSizeInElements(SourceRule):
    """
    checks: A function allocates memory with one size, and copies or sets it with the same expression times ``sizeof`` (or the reverse).
      Two functions of a class may do so with memory and counts that are members. Or the width of an array, or of a copy in which an array
      takes part, is multiplied by ``sizeof``. In Python: with ``size`` or ``len`` of an array, and with its ``nbytes``.
    why: CUDA counts bytes, and elements of arrays. Either the memory is too small for the copy, or most of it is not copied.
    instead: Use the number of elements times ``sizeof`` of one in both places, and the number alone for arrays.
    limits: Only sizes that differ by nothing else. In Python, only of one function, and silent if it mentions bytes. Silent about
      extents in files that make arrays of bytes.
    """

    code = "CV868"
    severity = "warning"
    summary = "a size is in elements instead of bytes, or the other way round"
    help = "multiply the number of elements by the size of one, but for extents of arrays"
    evidence = """
    documented: size is the allocation size in bytes (CUDA Runtime API, Memory Management, cudaMalloc)
    documented: nbytes: total bytes consumed by the elements of the array (NumPy documentation, numpy.ndarray.nbytes)
    documented: cudaMemcpy: count is the size in bytes to copy (CUDA Runtime API, Memory Management, cudaMemcpy)
    documented: the extent is in elements of the array if one takes part in the copy, and else in unsigned char (CUDA Runtime API,
      Memory Management, cudaMemcpy3D)
    documented: the width field of the requested size is in elements (CUDA Runtime API, Memory Management, cudaMalloc3DArray)
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

## members that mean the same in both functions [cuda]
template <typename T> class Field {
public:
    void reserve() { CHECK(cudaMalloc(&cells_, cells_count_ * sizeof(T))); }
    void clear() { CHECK(cudaMemset(cells_, 0, cells_count_ * sizeof(T))); }
    void clear(size_t cells_count_) { CHECK(cudaMemset(cells_, 0, cells_count_)); }
    ~Field() { cudaFree(cells_); }

private:
    T *cells_ = nullptr;
    size_t cells_count_ = 0;
};

## bytes that another member counts [cuda]
class Log {
public:
    void open() { CHECK(cudaMalloc(&lines_, count_ * sizeof(int))); }
    void wipe() { CHECK(cudaMemset(lines_, 0, bytes_)); }
    ~Log() { cudaFree(lines_); }

private:
    int *lines_ = nullptr;
    size_t count_ = 0, bytes_ = 0;
};

## an extent in elements [cuda]
void fill(cudaArray_t volume, float *host, size_t w, size_t h, size_t d) {
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, w * sizeof(float), w, h);
    copy.dstArray = volume;
    copy.extent = make_cudaExtent(w, h, d);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
}

## no array takes part [cuda]
void fill(cudaPitchedPtr volume, float *host, size_t w, size_t h, size_t d, cudaArray_t other) {
    cudaMemcpy3DParms copy = {}, next = {};
    copy.srcPtr = make_cudaPitchedPtr(host, w * sizeof(float), w, h);
    copy.dstPtr = volume;
    copy.extent = make_cudaExtent(w * sizeof(float), h, d);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    next.dstArray = other;
}

## an array of bytes [cuda]
void make(cudaArray_t *volume, size_t w, size_t h, size_t d) {
    cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
    CHECK(cudaMalloc3DArray(volume, &bytes, make_cudaExtent(w * sizeof(float), h, d)));
}
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
        Check(cudaMemcpy(values, (IntPtr)first, (nuint)host.Length, 1));  // note: [source-size-in-elements]
}

## Python: the size of the array [python cudart]
def upload(values, count):
    host = np.ones(count, dtype=np.float32)
    error, = cudart.cudaMemcpy(values, host.ctypes.data, host.size, H2D)  # note: [source-size-in-elements]

## allocated and copied by two functions of a class [cuda]
template <typename T> class Field {
public:
    explicit Field(size_t n) : cells_count_(n) { CHECK(cudaMalloc(&cells_, cells_count_ * sizeof(T))); }
    void read(T *to) const { CHECK(cudaMemcpy(to, cells_, cells_count_, cudaMemcpyDeviceToHost)); }  // note: [source-size-in-elements]
    ~Field() { cudaFree(cells_); }
    Field(const Field &) = delete;

private:
    T *cells_ = nullptr;
    size_t cells_count_ = 0;
};

## the extent of a copy to an array [cuda]
void fill(cudaArray_t volume, float *host, size_t w, size_t h, size_t d) {
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, w * sizeof(float), w, h);
    copy.dstArray = volume;
    copy.extent = make_cudaExtent(w * sizeof(float), h, d);  // note: [source-size-in-elements]
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
}

## an extent in a variable, and the width of a plain array [cuda]
void make(cudaArray_t *volume, const cudaChannelFormatDesc &of, size_t w, size_t h, size_t d) {
    const cudaExtent size = make_cudaExtent(sizeof(float2) * w, h, d);  // note: [source-size-in-elements]
    CHECK(cudaMalloc3DArray(volume, &of, size));
}
void make(cudaArray_t *image, const cudaChannelFormatDesc &of, size_t w, size_t h) {
    CHECK(cudaMallocArray(image, &of, w * sizeof(float2), h));  // note: [source-size-in-elements]
}
"""
