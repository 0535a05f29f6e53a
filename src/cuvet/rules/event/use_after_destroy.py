from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy
from cuvet.rules.rule import CRASH


class EventUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names an event that `cuEventDestroy` destroyed before.

    ## Why it is wrong
    The handle points at memory that the driver has given back. Nothing is promised about the call: where it was
    measured the process dies of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Destroy the event after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV301"
    name = "event-use-after-destroy"
    severity = "error"
    summary = "an event is used after it was destroyed"
    help = "destroy the event after its last use, or clear the variable that still holds it"
    kind = Kind.EVENT
    outcomes = (CRASH,)
    evidence = """
    measured: recording, querying, synchronising, waiting for and timing a destroyed event: SIGSEGV in the driver, no
      error code (event_record_after_destroy, event_query_after_destroy, event_sync_after_destroy,
      event_wait_after_destroy, event_elapsed_after_destroy)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Event Management,
      cudaEventDestroy)
    """
    VALID = """
## destroyed after its last use
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
cu.cuEventDestroy(event)

## destroyed while work is pending
note: an event may be destroyed before it is complete
event = cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuEventRecord(event, 0)
cu.cuEventDestroy(event)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## handle issued again
note: the new one often has the old handle value
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
cu.cuEventDestroy(event)

## C++: destroyed while a stream waits for it [cuda]
void fork(cudaStream_t from, cudaStream_t to) {
    cudaEvent_t ready;
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    cudaEventRecord(ready, from);
    cudaStreamWaitEvent(to, ready, 0);
    cudaEventDestroy(ready);
}

## Python: destroyed after the question [python]
from cuda.bindings import driver

def done(stream):
    error, event = driver.cuEventCreate(0)
    error, = driver.cuEventRecord(event, stream)
    answer, = driver.cuEventQuery(event)
    error, = driver.cuEventDestroy(event)
    return answer == driver.CUresult.CUDA_SUCCESS

## C#: destroyed in finally [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Timer {
    void Wait(CUstream stream) {
        CUevent done = new CUevent();
        Check(Events.cuEventCreate(ref done, CUEventFlags.Default));
        try {
            Check(Events.cuEventRecord(done, stream));
            Check(Events.cuEventSynchronize(done));
        } finally {
            Check(Events.cuEventDestroy_v2(done));
        }
    }
}
"""
    INVALID = """
## used after its destruction
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
cu.cuEventRecord(event, 0)  # error: [event-use-after-destroy]

## used in another way
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
cu.cuEventQuery(event)  # error: [event-use-after-destroy]

## destroyed by another thread
event = cu.cuEventCreate(0)
cu.in_thread(lambda: cu.cuEventDestroy(event))
cu.cuEventRecord(event, 0)  # error: [event-use-after-destroy]

## C++: elapsed time of destroyed events [cuda]
float timed(int n) {
    cudaEvent_t start, stop;
    float milliseconds = 0;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    work<<<1, n>>>();
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaEventElapsedTime(&milliseconds, start, stop);  // error: [event-use-after-destroy]
    return milliseconds;
}

## Python: asked after the destruction [python]
from cuda.bindings import driver

def done(stream):
    error, event = driver.cuEventCreate(0)
    error, = driver.cuEventRecord(event, stream)
    error, = driver.cuEventDestroy(event)
    error, = driver.cuEventQuery(event)  # error: [event-use-after-destroy]
    return error == driver.CUresult.CUDA_SUCCESS

## C#: waited for after the destruction [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Timer {
    void Wait(CUstream stream) {
        CUevent done = new CUevent();
        Check(Events.cuEventCreate(ref done, CUEventFlags.Default));
        Check(Events.cuEventRecord(done, stream));
        Check(Events.cuEventDestroy_v2(done));
        Check(Events.cuEventSynchronize(done));  // error: [event-use-after-destroy]
    }
}
"""
