from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated
from cuvet.rules.rule import CRASH


class StreamNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a stream is given a number that no call handed out as one, and the call fails or crashes.

    ## Why it is wrong
    The driver follows the handle as a pointer. A number that points nowhere was measured to die of SIGSEGV
    inside the driver; one that points at readable memory of another kind to return CUDA_ERROR_INVALID_HANDLE.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the stream, and pass
    handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV204"
    name = "stream-never-created"
    severity = "error"
    summary = "a stream is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the stream"
    kind = Kind.STREAM
    outcomes = (CRASH, 400, 709)
    evidence = """
    measured: cudaStreamSynchronize((cudaStream_t)0xdeadbeef): SIGSEGV in the driver (stream_garbage_handle)
    measured: a handle that points at zeroed memory: CUDA_ERROR_INVALID_HANDLE (stream_uninit_heap_handle)
    """
    VALID = """
## created first
stream = cu.cuStreamCreate(0)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## created by another thread
stream = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuStreamCreate(0))[1])
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## C++: a stream behind a pointer to void [c++]
void wait() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    void *handle = stream;
    cudaStreamSynchronize((cudaStream_t)handle);
    cudaStreamDestroy(stream);
}

## C++: handles of two kinds, one after the other [c++]
void wait() {
    void *handle;
    cudaEventCreate((cudaEvent_t *)&handle);
    cudaEventSynchronize((cudaEvent_t)handle);
    cudaEventDestroy((cudaEvent_t)handle);
    cudaStreamCreate((cudaStream_t *)&handle);
    cudaStreamSynchronize((cudaStream_t)handle);
    cudaStreamDestroy((cudaStream_t)handle);
}

## Python: arguments in order [python]
from cupy.cuda import runtime

def waits(first, second):
    event = runtime.eventCreate()
    runtime.eventRecord(event, first)
    runtime.streamWaitEvent(second, event)
    runtime.eventDestroy(event)
"""
    INVALID = """
## a number from nowhere
cu.cuStreamSynchronize(0x1234567000)  # error: [stream-never-created]

## an object of another kind
other = cu.cuEventCreate(0)
cu.cuStreamSynchronize(other)  # error: [stream-never-created]

## C++: an event behind a pointer to void [c++]
void wait(void **opaque) {
    cudaEvent_t done;
    cudaEventCreate(&done);
    void *handle = done;
    cudaStreamSynchronize((cudaStream_t)handle);  // error: [stream-never-created]
    cudaEventDestroy(done);
}

## Python: arguments in the wrong order [python]
from cupy.cuda import runtime

def waits(first, second):
    event = runtime.eventCreate()
    runtime.eventRecord(event, first)
    runtime.streamWaitEvent(event, second)  # error: [stream-never-created]
    runtime.eventDestroy(event)

## C#: handles as IntPtr [c#]
class Worker {
    [DllImport("cudart64_12")] static extern int cudaEventCreate(out IntPtr done);
    [DllImport("cudart64_12")] static extern int cudaEventDestroy(IntPtr done);
    [DllImport("cudart64_12")] static extern int cudaStreamSynchronize(IntPtr stream);

    void Wait() {
        Check(cudaEventCreate(out IntPtr done));
        Check(cudaStreamSynchronize(done));  // error: [stream-never-created]
        Check(cudaEventDestroy(done));
    }
}
"""
