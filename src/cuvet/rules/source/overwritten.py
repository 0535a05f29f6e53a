from cuvet.rules.rule import SourceRule


class SourceOverwritten(SourceRule):
    """
    checks: The only variable that holds a CUDA object gets another value before the object is ended.
    why: Nothing can end the first object any more. Its memory, or its place in the driver's tables, is lost until the process exits.
    instead: End the object before the variable gets another value, or keep both.
    limits: Silent about variables that other code may have read in between, and in C++ about those of which a block, a loop or a handler
      hides one by another of the same name.
    """

    code = "CV854"
    severity = "warning"
    summary = "the only variable that holds an object gets another value"
    help = "end the object before its variable is used again"
    evidence = """
    documented: cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made (CUDA Runtime
      API, Memory Management, Stream Management, Event Management)
    reported: each call allocates a buffer over the one of the call before
      (https://github.com/ginkgo-project/ginkgo/commit/be45420ad820370a8574065609021239dd6cb875)
    """
    VALID = """
## freed in between [cuda]
void grow(int n) {
    float *values;
    cudaMalloc(&values, n);
    first<<<1, 1>>>(values);
    cudaFree(values);
    cudaMalloc(&values, 2 * n);
    second<<<1, 1>>>(values);
    cudaFree(values);
}

## exchanged [cuda]
void iterate(int n) {
    float *from, *to;
    cudaMalloc(&from, n);
    cudaMalloc(&to, n);
    for (int i = 0; i < n; ++i) {
        step<<<1, 1>>>(from, to);
        float *other = from;
        from = to;
        to = other;
    }
    cudaFree(from);
    cudaFree(to);
}

## another variable of that name in a loop over elements [cuda]
void each(const std::vector<float *> &all, int n) {
    float *host;
    cudaMallocHost(&host, n);
    for (auto host : all)
        fill(host, n);
    for (float *&host : rows(n))
        host = nullptr;
    for (const auto &[size, host] : sizes(n))
        fill(host, size);
    cudaFreeHost(host);
}

## another variable of that name in a block [cuda]
void twice(const std::vector<int> &sizes, int n) {
    float *values;
    cudaMalloc(&values, n);
    for (int size : sizes) {
        float *values;
        cudaMalloc(&values, size);
        first<<<1, 1>>>(values);
        cudaFree(values);
    }
    if (float *values = next(n))
        cudaFree(values);
    second<<<1, 1>>>(values);
    cudaFree(values);
}

## given to a method that sets a member which the class frees, then forgotten [cuda]
class Matrix {
public:
    ~Matrix() { clear(); }
    void build(float *values) {
        clear();
        values_ = values;
    }
    void clear() { if (values_) cudaFree(values_); }
private:
    float *values_ = nullptr;
};
void fill(Matrix &matrix, int n) {
    float *values = nullptr;
    cudaMalloc(&values, n);
    matrix.build(values);
    values = nullptr;
}
"""
    INVALID = """
## made again [cuda]
void grow(int n) {
    float *values;
    cudaMalloc(&values, n);  // warning: [source-overwritten]
    first<<<1, 1>>>(values);
    cudaMalloc(&values, 2 * n);
    second<<<1, 1>>>(values);
    cudaFree(values);
}

## given to a method that only reads it, then forgotten [cuda]
class Matrix {
public:
    ~Matrix() { cudaFree(values_); }
    void copy(const float *values) { CHECK(cudaMemcpy(values_, values, 1024, cudaMemcpyDeviceToDevice)); }
private:
    float *values_ = nullptr;
};
void fill(Matrix &matrix, int n) {
    float *values = nullptr;
    CHECK(cudaMalloc(&values, n));  // warning: [source-overwritten]
    matrix.copy(values);
    values = nullptr;
}

## in a loop [cuda]
void each(int n) {
    cudaEvent_t done;
    for (int i = 0; i < n; ++i) {
        cudaEventCreate(&done);  // warning: [source-overwritten]
        work<<<1, 1>>>();
        cudaEventRecord(done);
        cudaEventSynchronize(done);
    }
    cudaEventDestroy(done);
}

## one variable after another of the same name [cuda]
void both(int n) {
    for (int i = 0; i < n; ++i) {
        float *values;
        cudaMalloc(&values, i);
        cudaFree(values);
    }
    {
        float *values;
        cudaMalloc(&values, n);  // warning: [source-overwritten]
        cudaMalloc(&values, 2 * n);
        cudaFree(values);
    }
}

## Python: in a loop [python cudart]
def check(result):
    if result[0] != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(result[0])
    return result[1] if len(result) == 2 else None

def each(n):
    for i in range(n):
        done = check(cudart.cudaEventCreate())  # warning: [source-overwritten]
        check(cudart.cudaEventRecord(done, 0))
        check(cudart.cudaEventSynchronize(done))
    check(cudart.cudaEventDestroy(done))

## C#: in a loop [c# method]
void Run(int[] sizes) {
    CUdeviceptr values = new CUdeviceptr();
    foreach (int size in sizes) {
        Check(MemoryManagement.cuMemAlloc_v2(ref values, size));  // warning: [source-overwritten]
        Launch(values);
    }
    Check(MemoryManagement.cuMemFree_v2(values));
}
"""
