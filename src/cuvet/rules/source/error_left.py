from cuvet.rules.rule import SourceRule


class SourceErrorLeft(SourceRule):
    """
    checks: A function goes on after an error that it expects, such as ``cudaErrorPeerAccessAlreadyEnabled``, and does not clear it.
    why: The runtime keeps the error. The next ``cudaGetLastError`` of the thread returns it, often after a launch that succeeded.
    instead: Call ``cudaGetLastError`` where the error is accepted: it returns the error and clears it.
    limits: Only errors that are compared by name, of calls of the runtime in the same function. A note where the file asks for no last
        error, or clears it somewhere else, and for peers that ``main`` enables, which may be the first to do so. Silent
        if the function clears it, and about ``cudaErrorNotReady``.
    """

    code = "CV883"
    severity = "warning"
    summary = "an error that is accepted stays the last error"
    help = "call cudaGetLastError() where the error is accepted"
    evidence = """
    measured: the launch after a failed cudaMalloc succeeds; cudaGetLastError returns its error (peek_stale_error)
    documented: cudaGetLastError returns the last error that any call of the runtime produced in the host thread, and resets it
      (CUDA Runtime API, Error Handling, cudaGetLastError)
    reported: the error of an accepted cudaDeviceEnablePeerAccess was thrown after the launch of another library's kernel
      (https://github.com/meta-pytorch/torchcomms/pull/2399)
    reported: an accepted cudaErrorPeerAccessAlreadyEnabled let a later capture of a graph fail
      (https://github.com/kvcache-ai/Mooncake/pull/1470)
    """
    VALID = """
## cleared [cuda]
void connect(int peer) {
    cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError();
    } else {
        CHECK(status);
    }
    scale<<<1, 256>>>(values);
    CHECK(cudaGetLastError());
}

## asked before [cuda]
void connect(int device, int peer) {
    int possible = 0;
    CHECK(cudaDeviceCanAccessPeer(&possible, device, peer));
    if (possible) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    scale<<<1, 256>>>(values);
    CHECK(cudaGetLastError());
}

## told to the caller [cuda]
cudaError_t allocate(float **values, size_t n) {
    cudaError_t status = cudaMalloc(values, n);
    if (status == cudaErrorMemoryAllocation) {
        report("no memory");
    }
    scale<<<1, 256>>>(*values);
    return status;
}

## a query [cuda]
bool done(cudaStream_t stream) {
    cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaErrorNotReady) {
        return false;
    }
    CHECK(status);
    CHECK(cudaGetLastError());
    return true;
}
"""
    INVALID = """
## main enables peers [cuda]
int main() {
    for (int peer = 1; peer < 4; peer++) {
        cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);  // note: [source-error-left]
        if (status == cudaErrorPeerAccessAlreadyEnabled) status = cudaSuccess;
        CHECK(status);
    }
    scale<<<1, 256>>>(values);
    CHECK(cudaGetLastError());
}

## before a launch [cuda]
void connect(int peer) {
    cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);  // warning: [source-error-left]
    if (status != cudaSuccess && status != cudaErrorPeerAccessAlreadyEnabled) {
        throw std::runtime_error("no peer access");
    }
    scale<<<1, 256>>>(values);
    CHECK(cudaGetLastError());
}

## in a file that asks for no last error [cuda]
void attach(void *memory, size_t n) {
    cudaError_t status = cudaHostRegister(memory, n, 0);  // note: [source-error-left]
    if (status == cudaErrorHostMemoryAlreadyRegistered) {
        report("already registered");
        return;
    }
    CHECK(status);
}
"""
