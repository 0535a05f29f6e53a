from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH


class EventDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuEventDestroy` is called with an event that was destroyed before.

    ## Why it is wrong
    After the first destruction the handle points at memory that the driver has given back. The second was
    measured to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Give the event one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV302"
    name = "event-destroy-twice"
    severity = "error"
    summary = "an event is destroyed twice"
    help = "let one owner destroy the event, and clear its handle at that moment"
    kind = Kind.EVENT
    outcomes = (CRASH,)
    evidence = """
    measured: SIGSEGV in the driver, no error code (event_destroy_twice)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Event Management,
      cudaEventDestroy)
    """
    VALID = """
## destroyed once
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)

## handle issued again
note: the new one often has the old handle value
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)

## C++: one event for each round [cuda]
void rounds(cudaStream_t stream, int count) {
    for (int i = 0; i < count; ++i) {
        cudaEvent_t done;
        cudaEventCreate(&done);
        cudaEventRecord(done, stream);
        cudaEventSynchronize(done);
        cudaEventDestroy(done);
    }
}

## C++: elements of an array [cuda]
void record(cudaStream_t stream) {
    cudaEvent_t events[2];
    for (int i = 0; i < 2; ++i)
        cudaEventCreate(&events[i]);
    cudaEventRecord(events[0], stream);
    cudaEventRecord(events[1], stream);
    for (int i = 0; i < 2; ++i)
        cudaEventDestroy(events[i]);
}

## Python: one event for each stream [python]
from cupy.cuda import runtime

def record(streams):
    for stream in streams:
        event = runtime.eventCreate()
        runtime.eventRecord(event, stream)
        runtime.eventSynchronize(event)
        runtime.eventDestroy(event)
"""
    INVALID = """
## destroyed twice
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
cu.cuEventDestroy(event)  # error: [event-destroy-twice]

## destroyed by two threads
event = cu.cuEventCreate(0)
cu.in_thread(lambda: cu.cuEventDestroy(event))
cu.cuEventDestroy(event)  # error: [event-destroy-twice]

## C++: one of two events twice [cuda]
float timed(int n) {
    cudaEvent_t start, stop;
    float milliseconds = 0;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    work<<<1, n>>>();
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&milliseconds, start, stop);
    cudaEventDestroy(stop);
    cudaEventDestroy(stop);  // error: [event-destroy-twice]
    cudaEventDestroy(start);
    return milliseconds;
}

## Python: destroyed in the loop [python]
from cupy.cuda import runtime

def record(streams):
    event = runtime.eventCreate()
    for stream in streams:
        runtime.eventRecord(event, stream)
        runtime.eventSynchronize(event)
    runtime.eventDestroy(event)
    runtime.eventDestroy(event)  # error: [event-destroy-twice]

## C#: in the block and in finally [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Timer {
    void Wait(CUstream stream) {
        CUevent done = new CUevent();
        Check(Events.cuEventCreate(ref done, CUEventFlags.Default));
        try {
            Check(Events.cuEventRecord(done, stream));
            Check(Events.cuEventSynchronize(done));
            Check(Events.cuEventDestroy_v2(done));
        } finally {
            Check(Events.cuEventDestroy_v2(done));  // error: [event-destroy-twice]
        }
    }
}
"""
