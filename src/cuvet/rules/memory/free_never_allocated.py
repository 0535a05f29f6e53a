from cuvet.model import Call, ModelView
from cuvet.rules.frees import ENTRY_POINTS, Case, freed
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations


class MemoryFreeNeverAllocated(CallRule):
    """
    checks: A free function is given an address that no CUDA allocation returned: of ``malloc``, ``new`` or the stack, or uninitialised.
    why: The free functions take only memory that CUDA allocated. The call fails, and the memory is not freed.
    instead: Free each pointer with the counterpart of its allocation: ``free`` for ``malloc``, ``cuMemFree`` for ``cuMemAlloc``.
    limits: Reported only when the call fails, because memory can come from libraries and processes that were not watched. In source code
      only where a local variable holds nothing but memory of ``malloc`` or ``new``, and no function that is given it can set it; or
      where a goto leads past all that gives a variable its value, to where the variable is freed.
    """

    code = "CV403"
    in_source = True
    summary = "memory that CUDA did not allocate is freed"
    help = "free it with the counterpart of the function that allocated it"
    entry_points = ENTRY_POINTS
    only_when = beyond_ordinary_memory
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE for malloc memory (free_host_ptr, freeasync_host, freehost_malloc)
    documented: frees what an allocation function returned (CUDA Driver API, Memory Management, cuMemFree)
    documented: cudaFree frees the memory space pointed to by devPtr, which must have been returned by a previous call to cudaMalloc,
      cudaMallocPitch, cudaMallocManaged, cudaMallocAsync or cudaMallocFromPoolAsync; if devPtr is 0, no operation is performed (CUDA
      Runtime API, Memory Management, cudaFree)
    documented: an object of automatic storage that is declared without a value has an indeterminate one (cppreference, C,
      Initialization)
    """
    VALID = """
## device memory
memory = cu.cuMemAlloc(1024)
cu.cuMemFree(memory)

## managed memory
note: managed memory is freed by cuMemFree, although the host can use it
memory = cu.cuMemAllocManaged(4096, 1)
cu.cuMemFree(memory)

## freed with another context current
note: the address says which context the memory belongs to
memory = cu.cuMemAlloc(4096)
cu.cuCtxSetCurrent(0)
other = cu.cuCtxCreate(0, 0, device)
cu.cuMemFree(memory)
cu.cuCtxDestroy(other)

## C++: NULL where the allocation is left out [cuda]
cudaError_t scale(const float *from, float *to, int n) {
    float *in = nullptr, *out = nullptr;
    cudaError_t status = cudaMalloc(&in, n);
    if (status != cudaSuccess)
        goto end;
    status = cudaMalloc(&out, n);
    if (status != cudaSuccess)
        goto end;
    status = run(in, out, from, to);
end:
    cudaFree(out);
    cudaFree(in);
    return status;
}

## C++: one label for each [cuda]
cudaError_t scale(const float *from, float *to, int n) {
    float *in, *out;
    cudaError_t status = cudaMalloc(&in, n);
    if (status != cudaSuccess)
        goto end;
    status = cudaMalloc(&out, n);
    if (status != cudaSuccess)
        goto end_in;
    status = run(in, out, from, to);
    cudaFree(out);
end_in:
    cudaFree(in);
end:
    return status;
}

## C++: freed only if it was made [cuda]
cudaError_t scale(const float *from, int n) {
    float *in;
    int made = 0;
    cudaError_t status = cudaSuccess;
    if (n == 0)
        goto end;
    status = cudaMalloc(&in, n);
    if (status != cudaSuccess)
        goto end;
    made = 1;
    status = run(in, from);
end:
    if (made)
        cudaFree(in);
    return status;
}

## C++: the same condition twice [cuda]
cudaError_t scale(const float *from, int n) {
    float *in;
    cudaError_t status = cudaSuccess;
    if (n == 0)
        goto end;
    status = cudaMalloc(&in, n);
    status = run(in, from);
end:
    if (n > 0)
        cudaFree(in);
    return status;
}

## C++: a function sets all first [cuda]
cudaError_t scale(const float *from, int n) {
    float *in, *out;
    cudaError_t status = cudaSuccess;
    clear(in, &out);
    if (n == 0)
        goto end;
    CHECK(cudaMalloc(&in, n));
    CHECK(cudaMalloc(&out, n));
    run(in, out, from);
end:
    cudaFree(out);
    cudaFree(in);
    return status;
}

## C++: a macro sets it, and another variable has its address [cuda]
#define NOTHING_YET() do { values = NULL; } while (0)
int run(int count) {
    float *values;
    int status = -1;
    NOTHING_YET();
    if (count < 1)
        goto end;
    CHECK(cudaMalloc(&values, count));
    status = work(values);
end:
    cudaFree(values);
    return status;
}
int taken(int count) {
    float *values, **place = &values;
    int status = -1;
    *place = take(count);
    if (count < 1)
        goto end;
    CHECK(cudaMalloc(&values, count));
    status = work(values);
end:
    cudaFree(values);
    return status;
}

## C++: the heap's and CUDA's, each with its counterpart [cuda]
void scale(int n) {
    float *host = (float *)malloc(n), *device;
    CHECK(cudaMalloc(&device, n));
    run(host, device);
    CHECK(cudaFree(device));
    free(host);
}

## C++: one variable, for either [cuda]
void scale(int n, bool pin) {
    float *values = NULL;
    if (pin)
        CHECK(cudaMallocHost(&values, n));
    else
        values = (float *)malloc(n);
    run(values);
    if (pin)
        CHECK(cudaFreeHost(values));
    else
        free(values);
}

## C++: a function puts it on the device [cuda]
void upload(float *&values, int n) {
    float *device;
    CHECK(cudaMalloc(&device, n));
    CHECK(cudaMemcpy(device, values, n, cudaMemcpyHostToDevice));
    free(values);
    values = device;
}
void scale(int n) {
    float *values = (float *)malloc(n);
    upload(values, n);
    run<<<1, 32>>>(values);
    CHECK(cudaFree(values));
}

## C++: malloc is a macro of the program [cuda]
#define malloc(n) allocate_managed(n)
void scale(int n) {
    float *values = (float *)malloc(n);
    run<<<1, 32>>>(values);
    CHECK(cudaFree(values));
}

## C++: two variables change places [cuda]
void scale(int n) {
    float *values = (float *)malloc(n), *device;
    CHECK(cudaMalloc(&device, n));
    float *other = values;
    values = device;
    free(other);
    CHECK(cudaFree(values));
}
"""
    INVALID = """
## host memory
buffer = cu.host(1024)
cu.cuMemFree(buffer)  # error: [memory-free-never-allocated]

## host memory, in stream order
buffer = cu.host(64)
cu.cuMemFreeAsync(buffer, 0)  # error: [memory-free-never-allocated]

## host memory that is not pinned
buffer = cu.host(64)
cu.cuMemFreeHost(buffer)  # error: [memory-free-never-allocated]

## C++: memory of malloc [cuda]
void fill(int *values, int n);
int main() {
    int n = 1 << 16, *host, *device;
    host = (int *)malloc(n);
    fill(host, n);
    CHECK(cudaMalloc(&device, n));
    CHECK(cudaMemcpy(device, host, n, cudaMemcpyHostToDevice));
    run<<<n / 256, 256>>>(device, n);
    CHECK(cudaFree(host));  // error: [memory-free-never-allocated]
    CHECK(cudaFree(device));
    return 0;
}

## C++: an array of new, as if it were pinned [cuda]
void scale(int n) {
    float *values = new float[n];
    CHECK(cudaMemset(values, 0, n));
    CHECK(cudaFreeHost(values));  // error: [memory-free-never-allocated]
}

## C++: a failure before it is allocated [cuda]
cudaError_t scale(const float *from, float *to, int n) {
    float *in, *out;
    cudaError_t status = cudaMalloc(&in, n);
    if (status != cudaSuccess)
        goto end;
    status = cudaMalloc(&out, n);
    if (status != cudaSuccess)
        goto end;
    status = run(in, out, from, to);
end:
    cudaFree(out);  // warning: [memory-free-never-allocated]
    cudaFree(in);
    return status;
}

## C++: a macro that goes to the end [cuda]
#define DO(call)                        \\
    do {                                \\
        status = (call);                \\
        if (status != cudaSuccess)      \\
            goto end;                   \\
    } while (0)

cudaError_t scale(const float *from, float *to, int n) {
    cudaError_t status;
    float *in, *out;
    DO(cudaMalloc(&in, n));
    DO(cudaMalloc(&out, n));
    DO(cudaMemcpy(in, from, n, cudaMemcpyHostToDevice));
end:
    if (out)
        cudaFree(out);  // warning: [memory-free-never-allocated]
    cudaFree(in);
    return status;
}

## C++: nothing to do [cuda]
int scale(const float *from, int n) {
    float *in;
    int result = -1;
    if (n == 0)
        goto end;
    if (cudaMalloc(&in, n) != cudaSuccess)
        goto end;
    result = run(in, from);
end:
    cudaFree(in);  // warning: [memory-free-never-allocated]
    return result;
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        given = freed(call, model)
        if given.case is Case.UNKNOWN:
            message = f"{given.address:#x} was not allocated by CUDA"
            yield cls.refused(message, argument=given.argument, outcomes=(1, 0) if model.graphs_allocate else (1,))
