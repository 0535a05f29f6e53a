from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy
from cuvet.rules.rule import CRASH


class StreamUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a stream (to launch, copy, record, wait, query or synchronise) that was destroyed before.

    ## Why it is wrong
    The handle points at memory that the driver has given back. Nothing is promised about the call: on the hardware
    where it was measured the process dies of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Destroy the stream after its last use. Work that was enqueued before the destruction still completes, so it need not be
    waited for; other threads that still hold the handle must be done with it.

    ## Limits
    The driver issues handle values again at once. When a new stream has the old one's value, a call through the old handle
    looks like a use of the new stream.
    """

    code = "CV201"
    name = "stream-use-after-destroy"
    severity = "error"
    summary = "a destroyed stream is used"
    help = "destroy the stream after its last use, or clear the variable that still holds it"
    kind = Kind.STREAM
    libraries = True
    outcomes = (CRASH,)
    evidence = """
    measured: a launch, a copy, a query and a synchronisation on a destroyed stream: SIGSEGV in the driver, no error
      code (launch_on_destroyed_stream, memcpyasync_on_destroyed_stream, stream_query_after_destroy,
      stream_sync_after_destroy)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Stream Management,
      cudaStreamDestroy)
    """
    VALID = """
## destroyed after the last use
stream = cu.cuStreamCreate(0)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## destroyed with work pending
note: work enqueued before the destruction completes
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuStreamDestroy(stream)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## handle issued again
note: the new stream often has the old one's handle value
old = cu.cuStreamCreate(0)
cu.cuStreamDestroy(old)
new = cu.cuStreamCreate(0)
cu.cuStreamSynchronize(new)
cu.cuStreamDestroy(new)

## C++: destroyed while work is pending [cuda]
void scale(float *values, int n) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    multiply<<<(n + 255) / 256, 256, 0, stream>>>(values, n);
    cudaStreamDestroy(stream);
    cudaDeviceSynchronize();
}

## C++: destroyed and made again [cuda]
void rounds(float *values, int n, int count) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < count; ++i) {
        multiply<<<1, n, 0, stream>>>(values, n);
        cudaStreamSynchronize(stream);
        cudaStreamDestroy(stream);
        cudaStreamCreate(&stream);
    }
    cudaStreamDestroy(stream);
}

## Python: destroyed after the last use [python]
from cuda.bindings import runtime as cudart

def upload(device, host, size):
    error, stream = cudart.cudaStreamCreate()
    error, = cudart.cudaMemcpyAsync(device, host, size, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, stream)
    error, = cudart.cudaStreamSynchronize(stream)
    error, = cudart.cudaStreamDestroy(stream)

## C#: destroyed in finally [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run() {
        CUstream stream = new CUstream();
        Check(Streams.cuStreamCreate(ref stream, CUStreamFlags.NonBlocking));
        try {
            Launch(stream);
            Check(Streams.cuStreamSynchronize(stream));
        } finally {
            Check(Streams.cuStreamDestroy_v2(stream));
        }
    }
}
"""
    INVALID = """
## synchronised after destruction
stream = cu.cuStreamCreate(0)
cu.cuStreamDestroy(stream)
cu.cuStreamSynchronize(stream)  # error: [stream-use-after-destroy]

## event recorded on a destroyed stream
stream = cu.cuStreamCreate(0)
event = cu.cuEventCreate(0)
cu.cuStreamDestroy(stream)
cu.cuEventRecord(event, stream)  # error: [stream-use-after-destroy]

## destroyed by another thread
stream = cu.cuStreamCreate(0)
cu.in_thread(lambda: cu.cuStreamDestroy(stream))
cu.cuStreamQuery(stream)  # error: [stream-use-after-destroy]

## C++: waited for after the destruction [cuda]
void scale(float *values, int n) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    multiply<<<(n + 255) / 256, 256, 0, stream>>>(values, n);
    cudaStreamDestroy(stream);
    cudaStreamSynchronize(stream);  // error: [stream-use-after-destroy]
}

## C++: destroyed in the loop that uses it [cuda]
void upload(float *const *device, float *const *host, size_t bytes, int buffers) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < buffers; ++i) {
        cudaMemcpyAsync(device[i], host[i], bytes, cudaMemcpyDefault, stream);  // error: [stream-use-after-destroy]
        cudaStreamDestroy(stream);  // error: [stream-destroy-twice]
    }
}

## Python: work after the destruction [python]
from cuda.bindings import runtime as cudart

def clear(values, size):
    error, stream = cudart.cudaStreamCreate()
    error, = cudart.cudaStreamDestroy(stream)
    error, = cudart.cudaMemsetAsync(values, 0, size, stream)  # error: [stream-use-after-destroy]

## Python: CuPy's runtime [python]
from cupy.cuda import runtime

def wait(work):
    stream = runtime.streamCreate()
    work(stream)
    runtime.streamDestroy(stream)
    runtime.streamSynchronize(stream)  # error: [stream-use-after-destroy]

## C#: waited for after the destruction [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run() {
        CUstream stream = new CUstream();
        Check(Streams.cuStreamCreate(ref stream, CUStreamFlags.NonBlocking));
        Launch(stream);
        Check(Streams.cuStreamDestroy_v2(stream));
        Check(Streams.cuStreamSynchronize(stream));  // error: [stream-use-after-destroy]
    }
}
"""
