from cuvet.rules.rule import SourceRule


class SourceAsyncOnDefaultStream(SourceRule):
    """
    checks: A function that is given a stream works on memory on it, and does other work on the same memory without a stream.
    why: Work without a stream is on the default stream. A stream that was created with ``cudaStreamNonBlocking`` does not wait for that
      one, nor does it for the stream, and the order of both is open. Any other stream waits, and all work of the device with it.
    instead: Pass the stream to both.
    limits: Only for pointers that both are given by their name, and only if no call in between waits.
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
"""
