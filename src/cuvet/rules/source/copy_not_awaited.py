from cuvet.rules.rule import SourceRule


class SourceCopyNotAwaited(SourceRule):
    """
    checks: ``cudaMemcpyAsync`` copies from or to a pinned buffer, or a kernel of the file uses managed memory. The host writes or reads it
      before anything that may wait for the work, perhaps in the next turn of a loop.
    why: The call returns before the copy is done. The host may read old values, or the copy may take what the host wrote later.
    instead: Call ``cudaStreamSynchronize`` or ``cudaEventSynchronize`` before the host uses the buffer again.
    limits: Only buffers declared and allocated in the same function, and only up to the next call of an unknown function. Silent about
      pageable buffers, because copies of them mostly wait.
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
    documented: cudaMemcpyAsync is asynchronous with respect to the host, so the call may return before the copy is
      complete (CUDA Runtime API, Memory Management, cudaMemcpyAsync)
    """
    VALID = """
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
"""
    INVALID = """
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

## a vector [cuda]
int first(const int *labels, int n, cudaStream_t stream) {
    std::vector<int> host(n);
    CHECK(cudaMemcpyAsync(host.data(), labels, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    std::map<int, int> counts;
    for (int i = 0; i < n; ++i)
        counts.find(host[i])->second++;  // note: [source-copy-not-awaited]
    return counts[0];
}
"""
