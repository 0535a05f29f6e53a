from cuvet.rules.rule import SourceRule


class SourceHeapFree(SourceRule):
    """
    checks: ``free`` or ``delete`` gets memory that CUDA allocated on the device, or pinned on the host.
    why: The heap does not know the address. glibc ends the process, or the heap is damaged, and CUDA keeps the memory.
    instead: Use ``cudaFreeHost`` for pinned memory, ``cudaFree`` for device and managed memory.
    limits: Only where one CUDA function allocates everything that the variable holds. A member of a struct that functions outside of it
      make and free is a warning, and only if one of them frees it as what it is.
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

## two objects of a struct, and only one is pinned [cuda]
struct Buffer { float *values; };

void pin(struct Buffer *buffer, size_t n) { CHECK(cudaMallocHost(&buffer->values, n)); }

void unpin(struct Buffer *buffer) { CHECK(cudaFreeHost(buffer->values)); }

void copy(struct Buffer *to, struct Buffer *from, size_t n) {
    to->values = (float *)malloc(n);
    CHECK(cudaMemcpy(to->values, from->values, n, cudaMemcpyDefault));
    free(to->values);
}

## nothing that frees it as what it is [cuda]
struct Buffer { float *values; };

void pin(struct Buffer *buffer, size_t n) { CHECK(cudaMallocHost(&buffer->values, n)); }

void drop(struct Buffer *buffer) {
    CHECK(cudaDeviceSynchronize());
    free(buffer->values);
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

## what another function of the struct frees well [cuda]
struct Buffer { float *values; size_t size; };

struct Buffer *create(size_t size) {
    struct Buffer *buffer = (struct Buffer *)malloc(sizeof(struct Buffer));
    buffer->size = size;
    CHECK(cudaHostAlloc((void **)&buffer->values, size, cudaHostAllocDefault));
    return buffer;
}

void destroy(struct Buffer *buffer) {
    CHECK(cudaFreeHost(buffer->values));
    free(buffer);
}

void shrink(struct Buffer **buffer, size_t size) {
    struct Buffer *old = *buffer;
    *buffer = create(size);
    CHECK(cudaMemcpy((*buffer)->values, old->values, size, cudaMemcpyDefault));
    free(old->values);  // note: [source-heap-free]
    free(old);
}

## member [cuda]
struct Test {
    Test() { cudaMallocHost(&faulty, 4); }
    Test(const Test &) = delete;
    ~Test() { free(faulty); }  // error: [source-heap-free]
    int *faulty;
};
"""
