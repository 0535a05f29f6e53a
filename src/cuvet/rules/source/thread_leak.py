from cuvet.rules.rule import SourceRule


class SourceThreadLeak(SourceRule):
    """
    checks: A function creates an object once per thread, keeps it in a ``thread_local`` variable, and never ends it.
    why: The variable ends with its thread without ending the object. Each thread that calls the function leaves one object behind.
    instead: Use a ``thread_local`` variable of a class whose destructor ends the object.
    limits: Only variables of functions. A program that never ends a thread loses nothing.
    """

    code = "CV897"
    severity = "warning"
    summary = "an object of each thread is never ended"
    help = "keep it in a class whose destructor ends it"
    evidence = """
    documented: thread_local storage lasts as long as its thread (C++ standard, [basic.stc.thread])
    reported: CTranslate2 made a stream, a cuBLAS and a cuDNN handle for each thread, and never destroyed them
      (https://github.com/OpenNMT/CTranslate2/commit/60dd407ebf5bf727aa0c2fceb339ac7267a711b9)
    """
    VALID = """
## in a class that ends it [cuda]
cudaStream_t own_stream() {
    static thread_local Stream stream;
    return stream.get();
}

## one for the process [cuda]
cudaStream_t own_stream() {
    static cudaStream_t stream = nullptr;
    if (stream == nullptr)
        CHECK(cudaStreamCreate(&stream));
    return stream;
}

## kept elsewhere too [cuda]
cudaStream_t own_stream(std::vector<cudaStream_t> &all) {
    static thread_local cudaStream_t stream = nullptr;
    if (stream == nullptr) {
        CHECK(cudaStreamCreate(&stream));
        all.push_back(stream);
    }
    return stream;
}
"""
    INVALID = """
## a stream of each thread [cuda]
cudaStream_t own_stream() {
    static thread_local cudaStream_t stream;
    static thread_local bool initialized = false;
    if (!initialized) {
        CHECK(cudaStreamCreate(&stream));  // warning: [source-thread-leak]
        initialized = true;
    }
    return stream;
}

## a library's handle [cuda]
void multiply(float *a, float *b, float *c, int n) {
    thread_local cublasHandle_t handle = nullptr;
    float one = 1, zero = 0;
    if (!handle)
        CHECK(cublasCreate(&handle));  // warning: [source-thread-leak]
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n));
}
"""
