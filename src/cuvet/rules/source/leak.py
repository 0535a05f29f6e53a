from __future__ import annotations

from cuvet.rules.evidence import documented, measured, reported
from cuvet.rules.sources import Source, SourceRule


class SourceLeak(SourceRule):
    """
    ## What it checks
    A function makes a stream, an event, memory or another object of CUDA, keeps it in a variable of its own, and ends
    without having ended the object or given it to anybody.

    ## Why it is wrong
    Nothing can end the object any more: each call of the function takes more of the GPU's memory or of the driver's
    tables, until the process exits.

    ## Use instead
    End the object before the function returns, or let an owner do so: a class whose destructor ends it, a
    ``std::unique_ptr`` with a deleter.

    ## Limits
    Functions that are not seen may take over what they are given; then nothing is said. Objects that ``main`` makes
    are reported as notes (``exit-leak``), because the process gives them back when it ends.
    """

    code = "CV851"
    name = "source-leak"
    severity = "warning"
    summary = "a function makes an object and loses it"
    help = "end the object before the function returns, or give it to an owner"
    evidence = (
        measured("compute-sanitizer reports such memory as leaked", "ctx_destroy_then_use", "free_interior"),
        documented(
            "cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made",
            "CUDA Runtime API, Memory Management, Stream Management, Event Management",
        ),
        reported(
            "two events of a function that is called in a loop were never destroyed",
            "https://github.com/lattice/quda/commit/187e2ba1b901b0031410fb3b9eceb7d6cd8d994c",
        ),
    )
    VALID = (
        Source(
            "freed",
            """
void sum(const float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));
    cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice);
    add<<<1, n>>>(values);
    cudaFree(values);
}
""",
        ),
        Source(
            "given to the caller",
            """
float *upload(const float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));
    cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice);
    return values;
}
""",
        ),
        Source(
            "given to an owner",
            """
void record(std::vector<cudaEvent_t> &events, cudaStream_t stream) {
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaEventRecord(event, stream);
    events.push_back(event);
}
""",
        ),
        Source(
            "Python: returned to the caller",
            """
from cuda.bindings import runtime as cudart

def upload(host):
    error, values = cudart.cudaMalloc(host.nbytes)
    error, = cudart.cudaMemcpy(values, host.ctypes.data, host.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice)
    return values
""",
            language="python",
        ),
    )
    INVALID = (
        Source(
            "memory",
            """
void sum(const float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));  // warning: [source-leak]
    cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice);
    add<<<1, n>>>(values);
}
""",
        ),
        Source(
            "events",
            """
float timed(int n) {
    cudaEvent_t start, end;
    float milliseconds;
    cudaEventCreate(&start);  // warning: [source-leak]
    cudaEventCreate(&end);  // warning: [source-leak]
    cudaEventRecord(start);
    work<<<1, n>>>();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&milliseconds, start, end);
    return milliseconds;
}
""",
        ),
        Source(
            "Python: CuPy's runtime",
            """
from cupy.cuda import runtime

def wait(stream):
    event = runtime.eventCreate()  # warning: [source-leak]
    runtime.eventRecord(event, stream)
    runtime.eventSynchronize(event)
""",
            language="python",
        ),
        Source(
            "C#: ManagedCuda's functions",
            """
class Timer {
    float Measure(CUstream stream) {
        CUevent done = new CUevent();
        CUResult result = DriverAPINativeMethods.Events.cuEventCreate(ref done, CUEventFlags.Default);  // warning: [source-leak]
        result = DriverAPINativeMethods.Events.cuEventRecord(done, stream);
        return Elapsed(stream);
    }
}
""",
            language="c#",
        ),
    )
