from cuvet.rules.rule import SourceRule


class SourceHeapFree(SourceRule):
    """
    checks: ``free`` or ``delete`` gets memory that CUDA allocated on the device, or pinned on the host.
    why: The heap does not know the address. glibc ends the process, or the heap is damaged, and CUDA keeps the memory.
    instead: Use ``cudaFreeHost`` for pinned memory, ``cudaFree`` for device and managed memory.
    limits: Only where one CUDA function allocates everything that the variable holds.
    """

    code = "CV858"
    summary = "free or delete gets memory that CUDA allocated"
    help = "free it with the counterpart of the function that allocated it"
    evidence = """
    documented: cudaMallocHost: the memory is freed with cudaFreeHost; cudaMalloc: with cudaFree (CUDA Runtime API,
      Memory Management, cudaFreeHost, cudaFree)
    documented: free: ptr must have been returned by a previous call to malloc or related functions, otherwise undefined
      behavior occurs (Linux man-pages, malloc(3))
    reported: a pinned buffer was given to free
      (https://github.com/wilicc/gpu-burn/commit/73d13cbba6cc959b3214343cb3cc83ec5354a9d2)
    """
    VALID = """
## each with its counterpart [cuda]
void both(int n) {
    float *pinned, *values = (float *)malloc(n);
    cudaMallocHost(&pinned, n);
    free(values);
    cudaFreeHost(pinned);
}

## one or the other [cuda]
void one(int n, bool pin) {
    float *values;
    if (pin)
        cudaMallocHost(&values, n);
    else
        values = (float *)malloc(n);
    if (pin)
        cudaFreeHost(values);
    else
        free(values);
}
"""
    INVALID = """
## pinned memory [cuda]
void fill(int n) {
    float *values;
    cudaMallocHost(&values, n);
    free(values);  // error: [source-heap-free]
}

## device memory [cuda]
void fill(int n) {
    float *values;
    cudaMalloc(&values, n);
    delete[] values;  // error: [source-heap-free]
}

## member [cuda]
struct Test {
    Test() { cudaMallocHost(&faulty, 4); }
    Test(const Test &) = delete;
    ~Test() { free(faulty); }  // error: [source-heap-free]
    int *faulty;
};
"""
