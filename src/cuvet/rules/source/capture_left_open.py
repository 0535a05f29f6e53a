from cuvet.rules.rule import SourceRule


class SourceCaptureLeftOpen(SourceRule):
    """
    checks: While a capture is open, a C++ function calls a function parameter, a callback or a closure, and nothing catches its exceptions.
    why: An exception leaves the capture open: nothing ends it, the graph is lost, and in the global mode calls of other threads fail.
    instead: Use a class whose constructor begins the capture and whose destructor ends it.
    limits: Does not see whether the callee throws. Silent about functions that are called by their own names.
    """

    code = "CV899"
    severity = "note"
    summary = "an exception leaves a capture open"
    help = "end the capture in a destructor"
    evidence = """
    measured: while a capture in the global mode is open, cudaMalloc of another thread returns
      cudaErrorStreamCaptureUnsupported (capture_other_thread_global)
    documented: the capture must be ended in the stream in which it was begun (CUDA Runtime API, Stream Management,
      cudaStreamBeginCapture)
    reported: an exception of the captured function left TVM's stream and its capture behind
      (https://github.com/apache/tvm/commit/a84adaf0ff39a40ab4cd0867972b805c4733ca10)
    """
    VALID = """
## ended by a destructor [cuda]
void capture(const std::function<void(cudaStream_t)> &work, cudaStream_t stream, cudaGraph_t *graph) {
    Capture capture(stream, graph);
    work(stream);
}

## caught [cuda]
void capture(const std::function<void(cudaStream_t)> &work, cudaStream_t stream, cudaGraph_t *graph) {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
        work(stream);
    } catch (...) {
        report();
    }
    CHECK(cudaStreamEndCapture(stream, graph));
}

## only work that is known [cuda]
void capture(float *values, int n, cudaStream_t stream, cudaGraph_t *graph) {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    scale<<<n, 256, 0, stream>>>(values);
    CHECK(cudaGetLastError());
    shift(values, n, stream);
    CHECK(cudaStreamEndCapture(stream, graph));
}
"""
    INVALID = """
## a function that is given [cuda]
void capture(const std::function<void(cudaStream_t)> &work, cudaStream_t stream, cudaGraph_t *graph) {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work(stream);  // note: [source-capture-left-open]
    CHECK(cudaStreamEndCapture(stream, graph));
}

## a closure of a virtual machine [cuda]
void capture(Machine *machine, const Closure &closure, cudaStream_t stream, cudaGraph_t *graph) {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    machine->InvokeClosure(closure);  // note: [source-capture-left-open]
    CHECK(cudaStreamEndCapture(stream, graph));
}
"""
