from cuvet.rules.rule import SourceRule


class SourceLeakOnReturn(SourceRule):
    """
    checks: A function ends an object that it created, but not on every path, because of an early ``return``, a ``throw`` or a branch.
    why: On that path the object is lost, with its memory or its place in the driver's tables.
    instead: Use an owner whose destructor ends the object, or one place at the end of the function that all paths reach.
    limits: Silent about a path that needs two unknown decisions. ``source-leak-on-failure`` covers paths after a failed CUDA call.
    """

    code = "CV852"
    severity = "warning"
    summary = "an object is lost on one way out of the function"
    help = "end the object on this path too, or give it to an owner whose destructor does"
    evidence = """
    documented: cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made (CUDA Runtime
      API, Memory Management, Stream Management, Event Management)
    documented: detach decreases the reference count of a context, which is deleted when that is zero (PyCUDA documentation,
      pycuda.driver.Context.detach)
    """
    VALID = """
## freed on both ways [cuda]
bool sum(int n, bool quick) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));
    if (quick) {
        cudaFree(values);
        return false;
    }
    add<<<1, n>>>(values);
    cudaFree(values);
    return true;
}

## one way out [cuda]
int sum(int n) {
    float *values = nullptr;
    int result = -1;
    if (cudaMalloc(&values, n * sizeof(float)) != cudaSuccess) goto done;
    if (prepare(n)) goto done;
    add<<<1, n>>>(values);
    result = 0;
done:
    if (values) cudaFree(values);
    return result;
}

## Python: freed in finally [python cudart]
def check(result):
    if result[0] != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(result[0])
    return result[1] if len(result) == 2 else None

def fill(n, quick):
    values = check(cudart.cudaMalloc(n))
    try:
        if quick:
            return
        check(cudart.cudaMemset(values, 0, n))
    finally:
        check(cudart.cudaFree(values))

## C#: freed in finally [c#]
class Filler {
    [DllImport("cudart64_12")] static extern int cudaMalloc(out IntPtr values, ulong bytes);
    [DllImport("cudart64_12")] static extern int cudaFree(IntPtr values);

    void Fill(ulong bytes, bool quick) {
        Check(cudaMalloc(out IntPtr values, bytes));
        try {
            if (quick) return;
            Work(values);
        } finally {
            Check(cudaFree(values));
        }
    }
}

## a lambda that returns on the device [cuda]
void find(const int *from, int n) {
    int *values;
    CHECK(cudaMalloc(&values, n * sizeof(int)));
    find_first(values, from, n, []__device__(int value) { return value == 5000; });
    find_first(values, from, n, [=] LAMBDA_QUALIFIER (int value) { return value == n; });
    CHECK(cudaFree(values));
}

## a flag that tells [cuda]
void sum(const float *host, int n) {
    float *values;
    bool allocated = false;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    allocated = true;
    sum_up(host, values, n);
    if (allocated)
        CHECK(cudaFree(values));
}

## a flag that ends the loop [cuda]
void wait(int n) {
    bool done = false;
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    while (!done) {
        CHECK(cudaEventRecord(event));
        if (n-- == 0) {
            CHECK(cudaEventDestroy(event));
            done = true;
        }
    }
}
"""
    INVALID = """
## early return [cuda]
bool sum(int n, bool quick) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));  // warning: [source-leak-on-return]
    if (quick)
        return false;
    add<<<1, n>>>(values);
    cudaFree(values);
    return true;
}

## exception [cuda]
void sum(int n) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);  // warning: [source-leak-on-return]
    if (n > limit())
        throw std::runtime_error("too many");
    add<<<1, n, 0, stream>>>();
    cudaStreamDestroy(stream);
}

## Python: early return [python cudart]
def check(result):
    if result[0] != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(result[0])
    return result[1] if len(result) == 2 else None

def fill(n, quick):
    values = check(cudart.cudaMalloc(n))  # warning: [source-leak-on-return]
    if quick:
        return
    check(cudart.cudaMemset(values, 0, n))
    check(cudart.cudaFree(values))

## C#: exception [c#]
class Filler {
    [DllImport("cudart64_12")] static extern int cudaMalloc(out IntPtr values, ulong bytes);
    [DllImport("cudart64_12")] static extern int cudaFree(IntPtr values);

    void Fill(ulong bytes) {
        Check(cudaMalloc(out IntPtr values, bytes));  // warning: [source-leak-on-return]
        if (bytes > Limit) throw new ArgumentException("bytes");
        Work(values);
        Check(cudaFree(values));
    }
}

## a flag that is never set [cuda]
void sum(const float *host, int n) {
    float *values;
    bool finished = false;
    CHECK(cudaMalloc(&values, n * sizeof(float)));  // warning: [source-leak-on-return]
    add<<<1, n>>>(host, values);
    CHECK(cudaGetLastError());
    if (finished)
        CHECK(cudaFree(values));
}
"""
