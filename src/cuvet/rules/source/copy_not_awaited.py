from cuvet.rules.rule import SourceRule


class SourceCopyNotAwaited(SourceRule):
    """
    checks: ``cudaMemcpyAsync`` copies from or to a pinned buffer. The host writes or reads it before anything that may wait for the copy.
    why: The call returns before the copy is done. The host may read old values, or the copy may take what the host wrote later.
    instead: Call ``cudaStreamSynchronize`` or ``cudaEventSynchronize`` before the host uses the buffer again.
    limits: Only buffers declared and allocated in the same function, and only up to the next call of an unknown function. Silent about
      pageable buffers, because copies of them mostly wait.
    """

    code = "CV866"
    severity = "warning"
    summary = "the host uses a pinned buffer while it is copied"
    help = "synchronize with the stream before the host uses the buffer"
    evidence = """
    documented: for transfers between device memory and pageable host memory, the function might be synchronous with
      respect to host (CUDA Runtime API, API synchronization behavior, Memcpy, Asynchronous)
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
