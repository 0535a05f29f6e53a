from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated
from cuvet.rules.rule import CRASH


class EventNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs an event is given a number that no call handed out as one, and the call fails or crashes.

    ## Why it is wrong
    The driver follows the handle as a pointer: a number that points nowhere was measured to die of SIGSEGV
    inside the driver.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the event, and pass
    handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV304"
    name = "event-never-created"
    severity = "error"
    summary = "an event is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the event"
    kind = Kind.EVENT
    outcomes = (CRASH, 709, 400)
    evidence = """
    measured: cuEventQuery of a stream: CUDA_ERROR_CONTEXT_IS_DESTROYED (stream_handle_of_event)
    measured: cudaEventQuery((cudaEvent_t)0xdeadbeef): SIGSEGV in the driver (event_garbage)
    documented: This indicates that a resource handle passed to the API call was not valid. Resource handles are opaque
      types like CUstream and CUevent. (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)
    """
    VALID = """
## created first
event = cu.cuEventCreate(0)
cu.cuEventQuery(event)
cu.cuEventDestroy(event)

## created by another thread
event = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuEventCreate(0))[1])
cu.cuEventQuery(event)
cu.cuEventDestroy(event)

## C++: an event behind a pointer to void [c++]
void destroy_all() {
    cudaEvent_t event;
    cudaEventCreate(&event);
    void *handle = event;
    record(event);
    cudaEventDestroy((cudaEvent_t)handle);
}

## Python: arguments in order [python]
from cupy.cuda import runtime

def mark(event):
    stream = runtime.streamCreate()
    runtime.eventRecord(event, stream)
    runtime.streamDestroy(stream)
"""
    INVALID = """
## a number from nowhere
cu.cuEventQuery(0x1234567000)  # error: [event-never-created]

## an object of another kind
other = cu.cuStreamCreate(0)
cu.cuEventQuery(other)  # error: [event-never-created]

## C++: a stream behind a pointer to void [c++]
void destroy_all() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    void *handle = stream;
    run(stream);
    cudaEventDestroy((cudaEvent_t)handle);  // error: [event-never-created]
}

## Python: arguments in the wrong order [python]
from cupy.cuda import runtime

def mark(event):
    stream = runtime.streamCreate()
    runtime.eventRecord(stream, event)  # error: [event-never-created]
    runtime.streamDestroy(stream)

## C#: handles as IntPtr [c#]
class Worker {
    [DllImport("cudart64_12")] static extern int cudaStreamCreate(out IntPtr stream);
    [DllImport("cudart64_12")] static extern int cudaEventDestroy(IntPtr done);

    void Run() {
        Check(cudaStreamCreate(out IntPtr stream));
        Launch(stream);
        Check(cudaEventDestroy(stream));  // error: [event-never-created]
    }
}
"""
