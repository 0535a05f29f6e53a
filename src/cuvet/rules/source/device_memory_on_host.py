from cuvet.rules.rule import SourceRule


class SourceDeviceMemoryOnHost(SourceRule):
    """
    checks: The host dereferences a pointer of ``cudaMalloc``, or passes it to a host function that reads or writes memory (``memcpy``,
      ``memset``, ``std::copy`` ...).
    why: On most machines the host cannot access device memory: the process dies of SIGSEGV.
    instead: Use ``cudaMemcpy`` to or from the host, ``cudaMemset``, or ``cudaMallocManaged`` for memory that both use.
    limits: Only pointers declared and allocated in the same function that nothing else sets. Silent where a function or a kernel may take
      the element by reference, and in programs with a ``cudaMalloc`` of their own.
    """

    code = "CV867"
    severity = "warning"
    summary = "the host reads or writes device memory"
    help = "copy with cudaMemcpy, set with cudaMemset, or allocate with cudaMallocManaged"
    evidence = """
    measured: the host reads memory of cudaMalloc: SIGSEGV (host_deref_live)
    documented: Only use objects in the execution space they are associated with (NVIDIA CUDA C++ Guidelines for Robust
      and Safety-Critical Programming, CUDA 3.3)
    """
    VALID = """
## an address, a size, a kernel's argument [cuda]
void fill(const float *host, int n) {
    float *values = nullptr;
    CHECK(cudaMalloc(&values, n * sizeof(values[0])));
    CHECK(cudaMemcpy(&values[1], host, (n - 1) * sizeof(*values), cudaMemcpyHostToDevice));
    scale<<<1, n>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(values));
}

## managed memory [cuda]
void fill(int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    values[0] = 1;
    CHECK(cudaFree(values));
}
"""
    INVALID = """
## dereferenced [cuda]
void fill(int n) {
    float *values;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    values[0] = 1;  // warning: [source-device-memory-on-host]
    CHECK(cudaFree(values));
}

## memset of the host [cuda]
void fill(int n) {
    float *values;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    memset(values, 0, n * sizeof(float));  // warning: [source-device-memory-on-host]
    CHECK(cudaFree(values));
}
"""
