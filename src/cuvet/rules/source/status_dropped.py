from cuvet.rules.rule import SourceRule


class SourceStatusDropped(SourceRule):
    """
    checks: A function ignores the status of a CUDA call, and does not call ``cudaGetLastError`` afterwards. All such calls of a function
      are one note. It is a warning if the function checks most other statuses, and the call creates something or waits,
      or if it is the update of an executable graph, and nothing else tells whether that was refused.
      In C++ also the status of a library's call (cuBLAS, cuFFT, cuRAND, cuSPARSE, cuSOLVER, cuDNN, cuTENSOR, NCCL, NVRTC) that makes or
      computes something.
    why: Almost every call can return an error of earlier work. After a failed allocation the variable keeps its old value.
    instead: Pass the status to the program's check. ``(void)`` before the call says that it is ignored on purpose.
    limits: Silent about functions that ignore only the statuses of calls that end objects, unless the other functions of the class look at
      all of theirs, and about destructors that also wait.
    """

    code = "CV860"
    severity = "note"
    summary = "the status of a call is ignored"
    help = "check the status, or write (void) before the call to ignore it on purpose"
    fix = "check-status"
    evidence = """
    documented: Check for errors after calling any CUDA library interface (NVIDIA CUDA C++ Guidelines for Robust and
      Safety-Critical Programming, CUDA 1.3)
    documented: may return errors of previous, asynchronous launches (CUDA Runtime API, Memory Management, cudaMalloc)
    documented: cudaGraphExecUpdate returns cudaErrorGraphExecUpdateFailure if the update could not be performed, as when the topology has
      changed (CUDA Runtime API, Graph Management, cudaGraphExecUpdate)
    measured: the launch after a failed cudaMalloc succeeds; cudaGetLastError returns its error (peek_stale_error)
    """
    VALID = """
## a destructor that waits [cuda]
class Queue {
  public:
    ~Queue() {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    Queue(const Queue &) = delete;
  private:
    cudaStream_t stream_;
};

## ignored on purpose [cuda]
void fill(float *values, int n) {
    (void)cudaMemset(values, 0, n * sizeof(float));
}

## asked for afterwards [cuda]
bool fill(float *values, int n) {
    cudaMemset(values, 0, n * sizeof(float));
    cudaDeviceSynchronize();
    return cudaGetLastError() == cudaSuccess;
}

## what is ended [cuda]
class Buffer {
  public:
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(values_); }
  private:
    float *values_;
};

## Python: an exception says that the call failed [python cupy]
def clear(values, n):
    runtime.memset(values, 0, n)
    runtime.deviceSynchronize()

## the outcome of an update of a graph [cuda]
void renew(cudaGraphExec_t *exec, cudaGraph_t graph) {
    if (cudaGraphExecUpdateResultInfo told; cudaGraphExecUpdate(*exec, graph, &told) != cudaSuccess) {
        (void)cudaGetLastError();
        CHECK(cudaGraphExecDestroy(*exec));
        CHECK(cudaGraphInstantiate(exec, graph, 0));
    }
}

## a macro without arguments that asks for the last error [cuda]
void wait(cudaStream_t stream) {
    cudaStreamSynchronize(stream); CUERR
}

## statuses of a library looked at, or ignored on purpose [cuda]
void transform(cufftHandle plan, cufftReal *values, cufftComplex *result, cublasHandle_t handle, int n, float *total) {
    CHECK(cufftExecR2C(plan, values, result));
    cublasStatus_t status = cublasSasum(handle, n, values, 1, total);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasSasum");
    (void)cufftExecC2R(plan, result, values);
    CHECK(cudaDeviceSynchronize());
}

## what a library sets or ends [cuda]
void leave(cublasHandle_t handle, cufftHandle plan, cublasLtMatrixLayout_t layout, cublasLtOrder_t order, cudaStream_t stream) {
    cublasSetStream(handle, nullptr);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order));
    cufftDestroy(plan);
    cublasDestroy(handle);
    CHECK(cudaStreamSynchronize(stream));
}

## ended in a function that cannot tell, or in a class that ignores more [cuda]
struct Pool {
    void *take(size_t n) { void *p; CHECK(cudaMalloc(&p, n)); return p; }
    void give(void *p) noexcept { cudaFree(p); }
};
struct Cache {
    void *take(size_t n) { void *p; CHECK(cudaMalloc(&p, n)); return p; }
    void give(void *p) { cudaFree(p); }
    void flush() { (void)cudaDeviceSynchronize(); }
};

## ended for a destructor too [cuda]
class Buffer {
  public:
    Buffer(const Buffer &) = delete;
    explicit Buffer(size_t n) { CHECK(cudaMalloc(&values_, n)); }
    ~Buffer() { reset(); }
    void reset() { cudaFree(values_); values_ = nullptr; }
  private:
    float *values_;
};

## the first cuBLAS, of which the functions return nothing [cuda]
void scale(int n, float *values, float *result) {
    cublasSgemm('n', 'n', n, n, n, 2.0f, values, n, values, n, 0.0f, result, n);
    CHECK(cudaDeviceSynchronize());
}

## C#: statuses looked at [c# method]
void Run(CUdeviceptr values, byte[] host) {
    CUResult result = SynchronousMemcpy_v2.cuMemcpyHtoD_v2(values, host, host.Length);
    if (result != CUResult.Success) throw new CudaException(result);
    Check(ContextManagement.cuCtxSynchronize());
}
"""
    INVALID = """
## one note for a function [cuda]
void fill(float *values, int n) {
    cudaMemset(values, 0, n * sizeof(float));
    cudaDeviceSynchronize();  // note: [source-status-dropped]
}

## an exception among checked calls [cuda]
void exchange(float *from, float *to, int n, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpyAsync(from, to, n, cudaMemcpyDefault, stream));
    cudaStreamSynchronize(stream);  // warning: [source-status-dropped]
}

## a library's transform among checked calls [cuda]
void transform(cufftHandle plan, cufftReal *values, cufftComplex *result) {
    cufftExecR2C(plan, values, result);  // note: [source-status-dropped]
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

## whether a graph was updated is not asked [cuda]
void replay(cudaGraphExec_t exec, cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphExecUpdateResultInfo told;
    cudaGraphExecUpdate(exec, graph, &told);  // warning: [source-status-dropped]
    CHECK(cudaGraphLaunch(exec, stream));
}

## the update is asked for its result [cuda]
void replay(cudaGraphExec_t *exec, cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphNode_t node;
    cudaGraphExecUpdateResult told;
    cudaGraphExecUpdate(*exec, graph, &node, &told);  // note: [source-status-dropped]
    if (told != cudaGraphExecUpdateSuccess)
        CHECK(cudaGraphInstantiate(exec, graph, 0));
    CHECK(cudaGraphLaunch(*exec, stream));
}

## the other functions of the class look at theirs [cuda]
struct Pool {
    void *take(size_t n) {
        void *p;
        CHECK(cudaMalloc(&p, n));
        return p;
    }
    void give(void *p) {
        cudaFree(p);  // note: [source-status-dropped]
    }
};

## Python: what is returned is dropped [python cudart]
def clear(values, n):
    cudart.cudaMemset(values, 0, n)  # note: [source-status-dropped]

## C#: statuses ignored [c# method]
void Run(CUdeviceptr values, byte[] host) {
    SynchronousMemcpy_v2.cuMemcpyHtoD_v2(values, host, host.Length);  // note: [source-status-dropped]
    ContextManagement.cuCtxSynchronize();
}
"""
