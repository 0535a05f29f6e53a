from cuvet.rules.rule import SourceRule


class SourceAsyncOnDefaultStream(SourceRule):
    """
    checks: A function that is given a stream works on memory on it, and does other work on the same memory without a stream. Or a
      library is called with a handle that was given no stream, and works on the same memory as other work on a stream that does not wait.
    why: Work without a stream is on the default stream. A stream that was created with ``cudaStreamNonBlocking`` does not wait for that
      one, nor does it for the stream, and the order of both is open. Any other stream waits, and all work of the device with it.
    instead: Pass the stream to both.
    limits: Only for pointers that both are given by their name, and only if no call in between waits. Also about a call of cuBLAS,
      cuFFT, cuRAND or cuSPARSE with a handle that the file makes and gives no stream, beside work on a stream that the file makes, and
      makes like all others so that it does not wait; if it is known which memory the call accesses, and nothing in between may wait.
    """

    code = "CV878"
    severity = "note"
    summary = "work of a function is on the default stream instead of the stream that it is given"
    help = "pass the stream of the function to this work too"
    evidence = """
    documented: kernel launches and copies that specify no stream, or the stream zero, are issued to the default stream (CUDA C++
      Programming Guide, Streams, Default Stream)
    documented: cudaStreamNonBlocking: work running in the created stream may run concurrently with work in stream 0, and there is no
      implicit synchronization with stream 0 (CUDA Runtime API, Stream Management, cudaStreamCreateWithFlags)
    documented: if the cuBLAS library stream is not set, all kernels use the default NULL stream (cuBLAS, Using the cuBLAS API,
      cublasSetStream)
    documented: cufftSetStream and curandSetStream set the stream that the kernels of the library are launched on (cuFFT API Reference,
      cufftSetStream; cuRAND, Host API, curandSetStream)
    documented: cusparseSetStream sets the stream that the library uses; if it is not set, all kernels use the default NULL stream
      (cuSPARSE, cuSPARSE Management API, cusparseSetStream and cusparseGetStream)
    reported: memory was cleared in the default stream and written by a kernel of another stream
      (https://github.com/nvidia-holoscan/holohub/commit/3cc4dcc5)
    """
    VALID = """
## all on the stream [cuda]
void fill(float *values, int n, cudaStream_t stream) {
    CHECK(cudaMemsetAsync(values, 0, n * sizeof(float), stream));
    fill_kernel<<<n, 32, 0, stream>>>(values, n);
    CHECK(cudaGetLastError());
}

## other memory [cuda]
void fill(float *values, float *others, int n, cudaStream_t stream) {
    CHECK(cudaMemsetAsync(others, 0, n * sizeof(float)));
    fill_kernel<<<n, 32, 0, stream>>>(values, n);
    CHECK(cudaGetLastError());
}

## waited for in between [cuda]
void fill(float *values, int n, cudaStream_t stream) {
    CHECK(cudaMemsetAsync(values, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    fill_kernel<<<n, 32, 0, stream>>>(values, n);
    CHECK(cudaGetLastError());
}

## no stream is given [cuda]
void fill(float *values, int n) {
    CHECK(cudaMemsetAsync(values, 0, n * sizeof(float)));
    fill_kernel<<<n, 32>>>(values, n);
    CHECK(cudaGetLastError());
}

## the stream is used for other things [cuda]
void fill(float *values, int n, cudaStream_t stream) {
    fill_kernel<<<n, 32>>>(values, n);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
}

## each in its arm [cuda]
void fill(float *values, int n, cudaStream_t stream) {
    if (stream == nullptr)
        fill_kernel<<<n, 32>>>(values, n);
    else
        fill_kernel<<<n, 32, 0, stream>>>(values, n);
    CHECK(cudaGetLastError());
}

## the handle is given the stream [cuda]
struct Spectrum { cudaStream_t stream; cufftHandle plan; };
void open(Spectrum *s, int n) {
    CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    CHECK_FFT(cufftPlan1d(&s->plan, n, CUFFT_C2C, 1));
    CHECK_FFT(cufftSetStream(s->plan, s->stream));
}
void transform(Spectrum *s, cufftComplex *from, cufftComplex *to, int n) {
    CHECK_FFT(cufftExecC2C(s->plan, from, to, CUFFT_FORWARD));
    scale<<<n, 32, 0, s->stream>>>(to, n);
    CHECK(cudaGetLastError());
}

## a stream that waits for the default stream, and another one for other things [cuda]
struct Spectrum { cudaStream_t stream, copies; cufftHandle plan; };
void open(Spectrum *s, int n) {
    CHECK(cudaStreamCreate(&s->stream));
    CHECK(cudaStreamCreateWithFlags(&s->copies, cudaStreamNonBlocking));
    CHECK_FFT(cufftPlan1d(&s->plan, n, CUFFT_C2C, 1));
}
void transform(Spectrum *s, cufftComplex *from, cufftComplex *to, int n) {
    CHECK_FFT(cufftExecC2C(s->plan, from, to, CUFFT_FORWARD));
    scale<<<n, 32, 0, s->stream>>>(to, n);
    CHECK(cudaGetLastError());
}

## the stream comes from the caller, and the file makes another one [cuda]
class Product {
public:
    explicit Product(cudaStream_t stream) : stream_(stream) {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        CHECK_BLAS(cublasCreate(&blas_));
    }
    ~Product();
    void own(int n, const float *x, float *y, const float *one) {
        CHECK_BLAS(cublasSaxpy(blas_, n, one, x, 1, y, 1));
        scale<<<n, 32, 0, stream_>>>(y, n);
        CHECK(cudaGetLastError());
    }
private:
    cudaStream_t stream_, copies_;
    cublasHandle_t blas_;
};

## waited for in between, and work that only reads what the library reads [cuda]
struct Spectrum { cudaStream_t stream; cufftHandle plan; };
void open(Spectrum *s, int n) {
    CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    CHECK_FFT(cufftPlan1d(&s->plan, n, CUFFT_C2C, 1));
}
void transform(Spectrum *s, cufftComplex *from, cufftComplex *to, cufftComplex *copy, int n) {
    CHECK(cudaMemcpyAsync(copy, from, n, cudaMemcpyDeviceToDevice, s->stream));
    CHECK_FFT(cufftExecC2C(s->plan, from, to, CUFFT_FORWARD));
    CHECK(cudaDeviceSynchronize());
    scale<<<n, 32, 0, s->stream>>>(to, n);
    CHECK(cudaGetLastError());
}

## the handle comes from elsewhere, or can be had by others [cuda]
class Product {
public:
    Product() {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK_BLAS(cublasCreate(&blas_));
    }
    ~Product();
    cublasHandle_t blas() { return blas_; }
    void other(cublasHandle_t blas, int n, const float *x, float *y, const float *one) {
        CHECK_BLAS(cublasSaxpy(blas, n, one, x, 1, y, 1));
        scale<<<n, 32, 0, stream_>>>(y, n);
        CHECK(cudaGetLastError());
    }
    void own(int n, const float *x, float *y, const float *one) {
        CHECK_BLAS(cublasSaxpy(blas_, n, one, x, 1, y, 1));
        scale<<<n, 32, 0, stream_>>>(y, n);
        CHECK(cudaGetLastError());
    }
private:
    cudaStream_t stream_;
    cublasHandle_t blas_;
};
"""
    INVALID = """
## cleared without the stream [cuda]
void fill(float *values, int n, cudaStream_t stream) {
    CHECK(cudaMemsetAsync(values, 0, n * sizeof(float)));  // note: [source-async-on-default-stream]
    fill_kernel<<<n, 32, 0, stream>>>(values, n);
    CHECK(cudaGetLastError());
}

## a launch without the stream [cuda]
void fill(const float *host, float *values, int n, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(values, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    fill_kernel<<<n, 32>>>(values, n);  // note: [source-async-on-default-stream]
    CHECK(cudaGetLastError());
}

## the handle of a transform is given no stream [cuda]
struct Spectrum { cudaStream_t stream; cufftHandle plan; };
void open(Spectrum *s, int n) {
    CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    CHECK_FFT(cufftPlan1d(&s->plan, n, CUFFT_C2C, 1));
}
int transform(Spectrum *s, cufftComplex *from, cufftComplex *to, int n) {
    if (cufftExecC2C(s->plan, from, to, CUFFT_FORWARD) != CUFFT_SUCCESS)  // note: [source-async-on-default-stream]
        return -1;
    scale<<<n, 32, 0, s->stream>>>(to, n);
    CHECK(cudaGetLastError());
    return 0;
}

## a product reads what a copy on the stream has just brought [cuda]
class Product {
public:
    Product() {
        CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, 0));
        CHECK_BLAS(cublasCreate(&blas_));
    }
    ~Product();
    void add(int n, const float *host, float *x, float *y, const float *one) {
        CHECK(cudaMemcpyAsync(x, host, n * sizeof(float), cudaMemcpyHostToDevice, stream_));
        CHECK_BLAS(cublasSaxpy(blas_, n, one, x, 1, y, 1));  // note: [source-async-on-default-stream]
        CHECK(cudaStreamSynchronize(stream_));
    }
private:
    cudaStream_t stream_;
    cublasHandle_t blas_;
};
"""
