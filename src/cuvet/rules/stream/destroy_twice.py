from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH


class StreamDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuStreamDestroy` is called with a stream that was destroyed before.

    ## Why it is wrong
    After the first destruction the handle points at memory that the driver has given back: the second was
    measured to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Give the stream one owner, which destroys it once and forgets the handle in the same place. Copies of an
    object that destroys its stream must share it, or not be copyable.

    ## Limits
    The driver issues handle values again at once. When a new stream has the old one's value, a second
    destruction looks like the first of the new stream.
    """

    code = "CV202"
    name = "stream-destroy-twice"
    severity = "error"
    summary = "a stream is destroyed twice"
    help = "let one owner destroy the stream, and clear its handle at that moment"
    kind = Kind.STREAM
    outcomes = (CRASH,)
    evidence = """
    measured: SIGSEGV in the driver, no error code (stream_destroy_twice)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Stream Management,
      cudaStreamDestroy)
    """
    VALID = """
## destroyed once
stream = cu.cuStreamCreate(0)
cu.cuStreamDestroy(stream)

## handle issued again
note: the new stream often has the old handle value
stream = cu.cuStreamCreate(0)
cu.cuStreamDestroy(stream)
stream = cu.cuStreamCreate(0)
cu.cuStreamDestroy(stream)

## C++: forgotten where it is destroyed [cuda]
void process(int batches) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < batches; ++i) {
        if (!next(i, stream)) {
            cudaStreamDestroy(stream);
            stream = nullptr;
            break;
        }
    }
    if (stream)
        cudaStreamDestroy(stream);
}

## Python: in finally alone [python]
from cupy.cuda import runtime

def run(work):
    stream = runtime.streamCreate()
    try:
        if not work(stream):
            return False
    finally:
        runtime.streamDestroy(stream)
    return True
"""
    INVALID = """
## destroyed twice
stream = cu.cuStreamCreate(0)
cu.cuStreamDestroy(stream)
cu.cuStreamDestroy(stream)  # error: [stream-destroy-twice]

## destroyed by two owners
streams = [cu.cuStreamCreate(0)]
copy = list(streams)
for stream in streams:
    cu.cuStreamDestroy(stream)
for stream in copy:
    cu.cuStreamDestroy(stream)  # error: [stream-destroy-twice]

## C++: at the end of the loop and after it [cuda]
void process(int batches) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < batches; ++i) {
        if (!next(i, stream)) {
            cudaStreamDestroy(stream);
            break;
        }
    }
    cudaStreamDestroy(stream);  // error: [stream-destroy-twice]
}

## C++: through two variables [cuda]
void run(int n) {
    cudaStream_t stream, compute;
    cudaStreamCreate(&stream);
    compute = stream;
    add<<<1, n, 0, compute>>>();
    cudaStreamDestroy(compute);
    cudaStreamDestroy(stream);  // error: [stream-destroy-twice]
}

## Python: on failure and in finally [python]
from cupy.cuda import runtime

def run(work):
    stream = runtime.streamCreate()
    try:
        if not work(stream):
            runtime.streamDestroy(stream)
            return False
    finally:
        runtime.streamDestroy(stream)  # error: [stream-destroy-twice]
    return True

## C#: in the block and in finally [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void Run() {
        CUstream stream = new CUstream();
        Check(Streams.cuStreamCreate(ref stream, CUStreamFlags.NonBlocking));
        try {
            Launch(stream);
            Check(Streams.cuStreamDestroy_v2(stream));
        } finally {
            Check(Streams.cuStreamDestroy_v2(stream));  // error: [stream-destroy-twice]
        }
    }
}
"""
