from cuvet.rules.rule import SourceRule


class SourceCopyNotAwaited(SourceRule):
    """
    checks: ``cudaMemcpyAsync`` copies from or to a pinned buffer, or a kernel of the file uses managed memory. The host writes or reads it
      before anything that may wait for the work, perhaps in the next turn of a loop.
      The same for an array in pinned memory that Numba (``copy_to_host`` with a stream) or CuPy (``get``, ``asnumpy`` with
      ``blocking=False``) copies to, and for a buffer of ManagedCuda that ``AsyncCopyFromDevice`` fills. The same for memory that MPI is
      given while a kernel of the file, a memset or a copy within the device may still write it.
    why: The call returns before the copy is done. The host may read old values, or the copy may take what the host wrote later.
    instead: Call ``cudaStreamSynchronize`` or ``cudaEventSynchronize`` before the host uses the buffer again.
    limits: Only in one function, and only up to what may wait: the next call of an unknown function, an object of an unknown class, a
      macro. Only what is sure to be used: not in a branch, and not beyond the first element if the copy may end before. A note for memory
      that is pageable or may be: variables and objects of the function, what parameters and members point to (a warning if another
      function of the file pins it), and what ``data()`` of a member leads to. Copies from and to pageable memory mostly wait. Also a note
      if all that stands between is out of sight and named as if it asks for the last error, which may wait.
    """

    code = "CV866"
    severity = "warning"
    summary = "the host uses a pinned buffer while it is copied, or managed memory while a kernel uses it"
    help = "synchronize with the stream before the host uses the buffer"
    evidence = """
    documented: for transfers between device memory and pageable host memory, the function might be synchronous with
      respect to host (CUDA Runtime API, API synchronization behavior, Memcpy, Asynchronous)
    documented: kernel launches are asynchronous with respect to the host, and the host must synchronize with the GPU before it
      accesses managed memory that a kernel uses (CUDA C++ Programming Guide, Unified Memory Programming)
    documented: for transfers from device memory to device memory, no host-side synchronization is performed (CUDA Runtime API,
      API synchronization behavior, Memcpy, Synchronous)
    reported: kernels had to be done before MPI was given what they write (https://github.com/dealii/dealii/pull/8880)
    documented: copy_to_host with a stream is asynchronous, as a part of the stream (Numba documentation, CUDA, Memory management,
      DeviceNDArray.copy_to_host)
    documented: AsyncCopyFromDevice calls cuMemcpyDtoHAsync (ManagedCuda's source, CudaPageLockedHostMemory.cs)
    documented: with blocking=False the copy runs asynchronously on the stream, and the user has to keep the order (CuPy documentation,
      cupy.asnumpy, cupy.ndarray.get)
    documented: cudaMemcpyAsync is asynchronous with respect to the host, so the call may return before the copy is
      complete (CUDA Runtime API, Memory Management, cudaMemcpyAsync)
    """
    VALID = """
## copied on by the host after a wait [cuda]
void fetch(const float *values, float *result, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    memcpy(result, host, n * sizeof(float));
    CHECK(cudaFreeHost(host));
}

## the size of the copy is given, not its memory [cuda]
void fetch(const float *values, float *result, const float *other, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    memcpy(result, other, n * sizeof(*host));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## read by the host while it is copied to the device [cuda]
void feed(float *values, float *copy, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    load(host, n);
    CHECK(cudaMemcpyAsync(values, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    memcpy(copy, host, n * sizeof(float));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## sent after a wait, or only read by the kernel [cuda]
__global__ void fill(int n, float *values, const float *rest) {
    if (threadIdx.x < n) values[threadIdx.x] = rest[threadIdx.x];
}
void send(int n, float *values, float *rest, int to) {
    fill<<<1, n>>>(n, values, rest);
    CHECK(cudaGetLastError());
    MPI_Send(rest, n, MPI_FLOAT, to, 0, MPI_COMM_WORLD);
    CHECK(cudaDeviceSynchronize());
    MPI_Send(values, n, MPI_FLOAT, to, 0, MPI_COMM_WORLD);
}

## copied from the host before it is sent [cuda]
void send(int n, float *values, const float *host, int to) {
    CHECK(cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice));
    MPI_Send(values, n, MPI_FLOAT, to, 0, MPI_COMM_WORLD);
}

## a check of the file that waits [cuda]
void cudaCheckLast() {
    if (cudaDeviceSynchronize() != cudaSuccess) abort();
}
size_t count_of(const size_t *counter, cudaStream_t stream) {
    size_t count = 0;
    CHECK(cudaMemcpyAsync(&count, counter, sizeof(size_t), cudaMemcpyDeviceToHost, stream));
    cudaCheckLast();
    return count;
}

## a check of something else, which may wait [cuda]
size_t count_of(const size_t *counter, cudaStream_t stream) {
    size_t count = 0;
    CHECK(cudaMemcpyAsync(&count, counter, sizeof(size_t), cudaMemcpyDeviceToHost, stream));
    checkResult();
    return count;
}

## awaited [cuda]
float first(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    float result = host[0];
    CHECK(cudaFreeHost(host));
    return result;
}

## read while it is copied to the device [cuda]
float first(float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    load(host, n);
    CHECK(cudaMemcpyAsync(values, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    float result = host[0];
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
    return result;
}

## a function that may wait [cuda]
float first(const float *values, int n, Queue &queue) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, queue.stream()));
    queue.finish();
    float result = host[0];
    CHECK(cudaFreeHost(host));
    return result;
}

## filled again in the next turn, after a wait [cuda]
void feed(float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, sizeof(float)));
    for (int i = 0; i < n; ++i) {
        host[0] = i;
        CHECK(cudaMemcpyAsync(values + i, host, sizeof(float), cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaFreeHost(host));
}

## managed memory, waited for [cuda]
__global__ void fill(int n, float *values) {
    if (threadIdx.x < n) values[threadIdx.x] = 1;
}
float first(int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    fill<<<1, n>>>(n, values);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    float result = values[0];
    CHECK(cudaFree(values));
    return result;
}

## managed memory that the kernel only reads [cuda]
__global__ void sum(const float *values, float *result) {
    *result = values[0] + values[1];
}
float first(float *result, int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    values[0] = values[1] = 1;
    sum<<<1, 1>>>(values, result);
    CHECK(cudaGetLastError());
    float one = values[0];
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
    return one;
}

## a later copy waits [cuda]
note: a copy to pageable memory returns when it is done, and so are those before it on its stream
int first(const int *values, const int *others, int *rest, int n, cudaStream_t stream) {
    int *host;
    CHECK(cudaMallocHost(&host, n * sizeof(int)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(rest, others, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    int result = host[0];
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
    return result;
}

## nothing is read: sizes, types and addresses [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    static_assert(sizeof(*host) == 4, "float");
    size_t size = sizeof(host[0]);
    using Value = decltype(host[0]);
    const float *second = &host[1];
    const float &third = host[2];
    printf("%zu %p", size, second);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## another case of a switch [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    switch (n) {
    case 1:
        CHECK(cudaMemcpyAsync(host, values, sizeof(float), cudaMemcpyDeviceToHost, stream));
        break;
    default:
        host[0] = 1;
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## the header of the loop waits [cuda]
void run(float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    for (int i = 0; i < n; i++, cudaStreamSynchronize(stream)) {
        host[0] = i;
        CHECK(cudaMemcpyAsync(values + i, host, sizeof(float), cudaMemcpyHostToDevice, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## no loop [cuda]
void run(float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    do {
        host[0] = n;
        CHECK(cudaMemcpyAsync(values, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    } while (0);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## copied in the last turn [cuda]
void run(float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    for (int i = 0; i < n; i++) {
        host[i] = i;
        if (i + 1 == n)
            CHECK(cudaMemcpyAsync(values, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## the other half of a double buffer [cuda]
void run(float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(values, host, n / 2 * sizeof(float), cudaMemcpyHostToDevice, stream));
    host[n / 2] = 1;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## an object waits at the end of its block [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    {
        StreamGuard guard(stream);
        CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    }
    printf("%f", host[0]);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## a macro waits [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    SYNC_STREAM;
    printf("%f", host[0]);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## a constructor waits [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    Timer timer{stream};
    printf("%f", host[0]);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## a function around the copy waits [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    finish(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    printf("%f", host[0]);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## a function of the same statement waits [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    if (cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream) || finish(stream)) puts("failed");
    printf("%f", host[0]);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## between buffers of the host [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyHostToHost, stream));
    printf("%f", host[0]);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## the copy failed [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    cudaError_t failed = cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
    if (failed != cudaSuccess) host[0] = 0;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## the copy failed, or the loop has ended [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    while (n--) {
        cudaError_t copied = cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
        if (copied == cudaSuccess) break;
        host[0] = 0;
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## the branch is taken if nothing was copied [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    if (n > 1)
        CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    if (n <= 1) host[0] = 0;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## captured [cuda]
void run(float *values, int n, cudaStream_t stream, cudaGraph_t *graph) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(values, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    host[0] = 1;
    CHECK(cudaStreamEndCapture(stream, graph));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## a copy from pageable memory may wait [cuda]
void run(const float *values, float *other, const float *rest, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(other, rest, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    printf("%f", host[0]);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## managed memory, polled [cuda]
__global__ void fill(int n, float *values) {
    if (threadIdx.x < n) values[threadIdx.x] = 1;
}
void run(int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    values[0] = 0;
    fill<<<1, n>>>(n, values);
    CHECK(cudaGetLastError());
    while (!*values);
    printf("%f", values[0]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
}

## managed memory, the half that the kernel does not write [cuda]
__global__ void fill(int n, float *values) {
    if (threadIdx.x < n) values[threadIdx.x] = 1;
}
void run(int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    fill<<<1, n / 2>>>(n / 2, values);
    CHECK(cudaGetLastError());
    values[n / 2] = 1;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
}

## managed memory, a variable of the kernel has the name [cuda]
__global__ void sum(const float *values, int n) {
    if (n > 1) {
        __shared__ float values[32];
        values[threadIdx.x] = 1;
    }
}
void run(int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    sum<<<1, n>>>(values, n);
    CHECK(cudaGetLastError());
    printf("%f", values[0]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
}

## managed memory, another function writes [cuda]
__global__ void look(int n, const float *values) { if (values[0] > n) printf("high"); }
__device__ void set(float *values) {
    values[0] = 1;
}
void run(int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    look<<<1, n>>>(n, values);
    CHECK(cudaGetLastError());
    printf("%f", values[0]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
}

## an object of the function, waited for [cuda]
Header header_of(const char *values, cudaStream_t stream) {
    Header header;
    CHECK(cudaMemcpyAsync(&header, values, sizeof(Header), cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    return header;
}

## a method is called, which may wait for the copy [cuda]
int count_of(const char *values, cudaStream_t stream) {
    Header header(stream);
    CHECK(cudaMemcpyAsync(&header, values, sizeof(int), cudaMemcpyDeviceToHost, stream));
    header.await();
    return header.count;
}

## an object whose memory may be the device's [cuda]
DeviceBuffer copy_of(const float *values, int n, cudaStream_t stream) {
    DeviceBuffer copy(n);
    CHECK(cudaMemcpyAsync(copy.data(), values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    return copy;
}

## it may be a copy to the device [cuda]
Matrix copy_of(const float *values, int n, cudaStream_t stream) {
    Matrix copy(n);
    CHECK(cudaMemcpyAsync(copy.data(), values, n * sizeof(float), cudaMemcpyDefault, stream));
    return copy;
}

## another object of the name [cuda]
int count_of(const char *values, int n, cudaStream_t stream) {
    if (n > 1) {
        Header header;
        CHECK(cudaMemcpyAsync(&header, values, sizeof(Header), cudaMemcpyDefault, stream));
        CHECK(cudaStreamSynchronize(stream));
        use(header);
    }
    Header header;
    return header.count;
}

## what a member points to, waited for [cuda]
struct Counter {
    int *count;
    void open() { CHECK(cudaMallocHost((void **)&count, sizeof(int))); }
    int read(const int *counter, cudaStream_t stream) {
        CHECK(cudaMemcpyAsync(count, counter, sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        return *count;
    }
};

## the pointer is another one then [cuda]
int read(int *count, int *other, const int *counter, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(count, counter, sizeof(int), cudaMemcpyDeviceToHost, stream));
    count = other;
    return *count;
}

## another member of the object is read [cuda]
float Model::total(cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(this->sums.data(), d_sums, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    float total = this->counts[0];
    CHECK(cudaStreamSynchronize(stream));
    return total + this->sums[0];
}
"""
    INVALID = """
## copied on by the host [cuda]
void fetch(const float *values, float *result, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    memcpy(result, host, n * sizeof(float));  // warning: [source-copy-not-awaited]
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## checked by a function that says what failed [cuda]
static void done(cudaError_t status, const char *what) {
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(what) + cudaGetErrorString(status));
}
float fetch(const float *values, cudaStream_t stream) {
    float *host;
    done(cudaMallocHost(&host, 4), "alloc");
    done(cudaMemcpyAsync(host, values, 4, cudaMemcpyDeviceToHost, stream), "copy");
    float first = host[0];  // warning: [source-copy-not-awaited]
    done(cudaStreamSynchronize(stream), "wait");
    done(cudaFreeHost(host), "free");
    return first;
}

## filled anew by the host in the next turn [cuda]
void feed(float *values, const float *from, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, 64));
    for (int i = 0; i < n; ++i) {
        std::memcpy(host, from + 16 * i, 64);  // warning: [source-copy-not-awaited]
        CHECK(cudaMemcpyAsync(values + 16 * i, host, 64, cudaMemcpyHostToDevice, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## a variable that MPI sends [cuda]
void total(const int *counter, int *sum, cudaStream_t stream) {
    int count = 0;
    CHECK(cudaMemcpyAsync(&count, counter, sizeof(int), cudaMemcpyDeviceToHost, stream));
    MPI_Allreduce(&count, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // note: [source-copy-not-awaited]
}

## MPI sends what a kernel writes [cuda]
__global__ void fill(int n, float *values) {
    if (threadIdx.x < n) values[threadIdx.x] = 1;
}
void send(int n, float *values, int to) {
    fill<<<1, n>>>(n, values);
    CHECK(cudaGetLastError());
    MPI_Send(values, n, MPI_FLOAT, to, 0, MPI_COMM_WORLD);  // warning: [source-copy-not-awaited]
}

## MPI sends what is copied within the device [cuda]
void send(int n, float *buffer, const float *values, int to, MPI_Request *request) {
    CHECK(cudaMemcpy(buffer, values, n * sizeof(float), cudaMemcpyDeviceToDevice));
    MPI_Isend(buffer, n, MPI_FLOAT, to, 0, MPI_COMM_WORLD, request);  // warning: [source-copy-not-awaited]
}

## returned behind a check that is out of sight [cuda]
size_t count_of(size_t *counter, cudaStream_t stream) {
    size_t count = 0;
    CHECK(cudaMemcpyAsync(&count, counter, sizeof(size_t), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(counter, stream));
    CudaCheckError();
    return count;  // note: [source-copy-not-awaited]
}

## what a member points to, pinned by another function [cuda]
struct Counter {
    int *count;
    void open() { CHECK(cudaMallocHost((void **)&count, sizeof(int))); }
    int read(const int *counter, cudaStream_t stream) {
        CHECK(cudaMemcpyAsync(count, counter, sizeof(int), cudaMemcpyDeviceToHost, stream));
        return *count;  // warning: [source-copy-not-awaited]
    }
};

## what a parameter points to [cuda]
bool any(int *count, const int *counter, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(count, counter, sizeof(int), cudaMemcpyDeviceToHost, stream));
    return count[0] > 0;  // note: [source-copy-not-awaited]
}

## a member of an object of the function [cuda]
int count_of(const char *values, cudaStream_t stream) {
    Header header;
    CHECK(cudaMemcpyAsync(&header, values, sizeof(Header), cudaMemcpyDefault, stream));
    return header.count;  // note: [source-copy-not-awaited]
}

## an object that is returned [cuda]
Matrix copy_of(const float *values, int n, cudaStream_t stream) {
    Matrix copy = Matrix::Zero(n);
    CHECK(cudaMemcpyAsync(copy.data(), values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    return copy;  // note: [source-copy-not-awaited]
}

## one of two objects of the name [cuda]
int count_of(const char *values, int n, cudaStream_t stream) {
    if (n > 1) {
        Header header;
        CHECK(cudaMemcpyAsync(&header, values, sizeof(Header), cudaMemcpyDefault, stream));
        assert(header.count == 1);  // note: [source-copy-not-awaited]
    } else {
        Other header;
        use(header);
    }
    return 0;
}

## a member, after a small vector is made [cuda]
float Model::total(cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(this->sums.data(), d_sums, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    vec3 unused = vec3(0.0f);
    return this->sums[0];  // note: [source-copy-not-awaited]
}

## read too early [cuda]
float first(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    float result = host[0];  // warning: [source-copy-not-awaited]
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
    return result;
}

## written too early [cuda]
void fill(float *values, float *others, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    host[0] = 1;
    CHECK(cudaMemcpyAsync(values, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    host[0] = 2;  // warning: [source-copy-not-awaited]
    CHECK(cudaMemcpyAsync(others, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## filled again in the next turn [cuda]
void feed(float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, sizeof(float)));
    for (int i = 0; i < n; ++i) {
        host[0] = i;  // warning: [source-copy-not-awaited]
        CHECK(cudaMemcpyAsync(values + i, host, sizeof(float), cudaMemcpyHostToDevice, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## the driver API [cuda]
int first(CUdeviceptr values, CUstream stream) {
    int *host;
    CHECK(cuMemHostAlloc((void **)&host, sizeof(int), 0));
    CHECK(cuMemcpyDtoHAsync(host, values, sizeof(int), stream));
    int result = host[0];  // warning: [source-copy-not-awaited]
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemFreeHost(host));
    return result;
}

## managed memory that a kernel writes [cuda]
__global__ void fill(int n, float *values) {
    if (threadIdx.x < n) values[threadIdx.x] = 1;
}
float first(int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    fill<<<1, n>>>(n, values);
    CHECK(cudaGetLastError());
    float result = values[0];  // warning: [source-copy-not-awaited]
    CHECK(cudaFree(values));
    return result;
}

## managed memory that a kernel reads [cuda]
__global__ void sum(const float *values, float *result) {
    *result = values[0] + values[1];
}
void change(float *result, int n) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    values[0] = values[1] = 1;
    sum<<<1, 1>>>(values, result);
    CHECK(cudaGetLastError());
    values[0] = 2;  // warning: [source-copy-not-awaited]
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
}

## both sizes are the same, so all of the buffer is copied [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    float last = host[n - 1];  // warning: [source-copy-not-awaited]
    printf("%f", last);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## used in the same case of a switch [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    switch (n) {
    case 1:
        CHECK(cudaMemcpyAsync(host, values, sizeof(float), cudaMemcpyDeviceToHost, stream));
        printf("%f", host[0]);  // warning: [source-copy-not-awaited]
        break;
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## used after the block [cuda]
void run(const float *values, int n, cudaStream_t stream) {
    float *host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    if (n > 0) {
        float4 unused;
        CHECK(cudaMemcpyAsync(host, values, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    }
    printf("%f", host[0]);  // warning: [source-copy-not-awaited]
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
}

## a vector [cuda]
int first(const int *labels, int n, cudaStream_t stream) {
    std::vector<int> host(n);
    CHECK(cudaMemcpyAsync(host.data(), labels, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    std::map<int, int> counts;
    for (int i = 0; i < n; ++i)
        counts.find(host[i])->second++;  // note: [source-copy-not-awaited]
    return counts[0];
}

## managed memory, its first element is given to the kernel, and another kernel is given a lambda [cuda]
__global__ void fill(int n, float *values) {
    if (threadIdx.x < n) values[threadIdx.x] = 1;
}
void run(int n, float *others) {
    float *values;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    fill<<<1, n>>>(n, &values[0]);
    each<<<1, n>>>(others, [] __device__(float *value) { return value->next(); });
    CHECK(cudaGetLastError());
    printf("%f", values[0]);  // warning: [source-copy-not-awaited]
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
}
"""
