from cuvet.rules.rule import SourceRule


class SourceCopyDirection(SourceRule):
    """
    checks: The kind of a copy says that a local array, vector or variable of the function is memory of a device.
    why: What such a copy does is undefined.
    instead: Name the kind that fits both places, or ``cudaMemcpyDefault``, which takes the direction from the pointers.
    limits: Only of memory that the function itself declares; in Python ``array.ctypes.data`` of an array that it makes with NumPy;
      in C# an array, also where ``fixed`` pins it.
      Silent about pointers, members, and vectors with an allocator.
    """

    code = "CV877"
    severity = "warning"
    summary = "the kind of a copy does not fit its direction"
    help = "name the kind that fits, or cudaMemcpyDefault"
    evidence = """
    documented: a copy whose pointers do not match the direction that its kind says has undefined behavior (CUDA Runtime API,
      Memory Management, cudaMemcpy)
    documented: a fixed statement pins a managed variable and declares a pointer to it (C# language reference, fixed statement)
    documented: ctypes.data is a pointer to the memory area of the array (NumPy documentation, numpy.ndarray.ctypes)
    """
    VALID = """
## both directions [cuda]
void twice(float *values, int n) {
    std::vector<float> host(n);
    CHECK(cudaMemcpy(host.data(), values, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(values, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
}

## by the pointers [cuda]
void fetch(const float *values) {
    float host[16];
    CHECK(cudaMemcpy(host, values, sizeof(host), cudaMemcpyDefault));
}

## an array that is a parameter [cuda]
void store(float values[16], const float *from) {
    CHECK(cudaMemcpy(values, from, 64, cudaMemcpyHostToDevice));
}

## a pointer [cuda]
void store(const float *from, float *values) {
    float *first = values + 16;
    CHECK(cudaMemcpy(first, from, 64, cudaMemcpyHostToDevice));
}

## a vector of the device [cuda]
void store(const float *from, int n) {
    thrust::device_vector<float> values(n);
    CHECK(cudaMemcpy(&values[0], from, 64, cudaMemcpyHostToDevice));
}

## a vector with an allocator [cuda]
void store(const float *from, int n) {
    std::vector<float, OfDevice<float>> values(n);
    CHECK(cudaMemcpy(values.data(), from, 64, cudaMemcpyHostToDevice));
}
"""
    INVALID = """
## a vector [cuda]
void fetch(const float *values, int n) {
    std::vector<float> host(n);
    CHECK(cudaMemcpy(host.data(), values, n * sizeof(float), cudaMemcpyHostToDevice));  // warning: [source-copy-direction]
}

## an array [cuda]
void fetch(const float *values, cudaStream_t stream) {
    float host[16];
    CHECK(cudaMemcpyAsync(host, values, sizeof(host), cudaMemcpyHostToDevice, stream));  // warning: [source-copy-direction]
}

## a variable [cuda]
void store(int *count) {
    int zero = 0;
    CHECK(cudaMemcpy(count, &zero, sizeof(int), cudaMemcpyDeviceToHost));  // warning: [source-copy-direction]
}
"""
