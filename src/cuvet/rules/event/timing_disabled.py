from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Event
from cuvet.rules.lifecycle import named
from cuvet.rules.rule import CallRule, Violations


class EventTimingDisabled(CallRule):
    """
    checks: The program asks for the elapsed time of an event that was created with `CU_EVENT_DISABLE_TIMING` (`cudaEventDisableTiming`).
    why: Such an event stores no time, so the call returns CUDA_ERROR_INVALID_HANDLE. Events that only order work often have the flag,
      because it is documented to give the best performance with `cuStreamWaitEvent` and `cuEventQuery`.
    instead: Create both events without the flag if you measure time.
    limits: Silent about events whose creation was not seen. In Python, `cuvet check` knows events of PyTorch, CuPy and Numba
      that a function sets a variable to, or a class a member, once. In C++, it also knows events of local objects whose class, in the
      same file, makes one event with flags that its constructor writes or is given.
    """

    code = "CV307"
    in_source = True
    summary = "the program asks for the elapsed time of an event without timing"
    help = "create the event without CU_EVENT_DISABLE_TIMING (cudaEventDisableTiming)"
    entry_points = frozenset({"cuEventElapsedTime"})
    evidence = """
    measured: one or both events without timing: CUDA_ERROR_INVALID_HANDLE (event_elapsed_timing_disabled,
      event_elapsed_one_timing_disabled)
    documented: If either event was created with the CU_EVENT_DISABLE_TIMING flag, then this function will return
      CUDA_ERROR_INVALID_HANDLE. (CUDA Driver API, Event Management, cuEventElapsedTime)
    documented: torch.cuda.Event: enable_timing: indicates if the event should measure time (default: False) (PyTorch documentation,
      torch.cuda.Event)
    documented: cupy.cuda.Event: disable_timing: if True, the event does not prepare the timing data (CuPy documentation, cupy.cuda.Event)
    documented: numba.cuda.event: the event records timing data only if it is created with timing=True, the default (Numba
      documentation, CUDA Host API, Events)
    """
    VALID = """
## events with timing
start, end = cu.cuEventCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(start, 0)
cu.cuEventRecord(end, 0)
cu.cuEventSynchronize(end)
cu.cuEventElapsedTime(start, end)

## events without timing order work
disable_timing = 2
event = cu.cuEventCreate(disable_timing)
cu.cuEventRecord(event, 0)
cu.cuStreamWaitEvent(0, event, 0)
cu.cuEventSynchronize(event)

## C++: events that block, and keep time [cuda]
float timed(cudaStream_t stream, int n) {
    cudaEvent_t start, stop;
    float milliseconds = 0;
    cudaEventCreateWithFlags(&start, cudaEventBlockingSync);
    cudaEventCreateWithFlags(&stop, cudaEventBlockingSync);
    cudaEventRecord(start, stream);
    work<<<1, n, 0, stream>>>();
    cudaEventRecord(stop, stream);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&milliseconds, start, stop);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return milliseconds;
}

## C++: flags that are not known [cuda]
float timed(cudaStream_t stream, unsigned flags) {
    cudaEvent_t start, stop;
    float milliseconds = 0;
    cudaEventCreateWithFlags(&start, flags);
    cudaEventCreateWithFlags(&stop, flags);
    record(start, stop, stream);
    cudaEventElapsedTime(&milliseconds, start, stop);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return milliseconds;
}

## Python: events with timing [python cupy]
def timed(stream, work):
    start, stop = runtime.eventCreate(), runtime.eventCreate()
    runtime.eventRecord(start, stream)
    work(stream)
    runtime.eventRecord(stop, stream)
    runtime.eventSynchronize(stop)
    milliseconds = runtime.eventElapsedTime(start, stop)
    runtime.eventDestroy(start)
    runtime.eventDestroy(stop)
    return milliseconds

## PyTorch: events with timing [python]
import torch
def timed(work):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)

## PyTorch: events that order work, and other objects that know a time [python]
import torch
def after(stream, clock):
    event = torch.cuda.Event()
    event.record()
    stream.wait_event(event)
    return clock.elapsed_time()

## PyTorch: set twice, or by the caller [python]
import torch
def timed(timing, start):
    end = torch.cuda.Event()
    if timing:
        end = torch.cuda.Event(enable_timing=True)
    return start.elapsed_time(end)

## PyTorch: it is not known whether there is timing [python]
import torch
def timed(work, timing, **options):
    start = torch.cuda.Event(enable_timing=timing)
    end = torch.cuda.Event(**options)
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)

## PyTorch: a test of the error [python]
import pytest
import torch
def test_elapsed():
    start = torch.cuda.Event()
    end = torch.cuda.Event()
    with pytest.raises(RuntimeError):
        start.elapsed_time(end)

## PyTorch: a member of another class [python]
import torch
class Ordered:
    def __init__(self):
        self.start = torch.cuda.Event()
class Timed:
    def time(self, end):
        return self.start.elapsed_time(end)

## CuPy: events with timing [python]
import cupy as cp
def timed(work):
    start, end = cp.cuda.Event(), cp.cuda.Event()
    begin = cp.cuda.Event(block=True)
    begin.record()
    work()
    end.record()
    end.synchronize()
    return cp.cuda.get_elapsed_time(begin, end)
"""
    INVALID = """
## end without timing
disable_timing = 2
start, end = cu.cuEventCreate(0), cu.cuEventCreate(disable_timing)
cu.cuEventRecord(start, 0)
cu.cuEventRecord(end, 0)
cu.cuEventSynchronize(end)
cu.cuEventElapsedTime(start, end)  # error: [event-timing-disabled]

## start without timing
disable_timing = 2
start, end = cu.cuEventCreate(disable_timing), cu.cuEventCreate(0)
cu.cuEventRecord(start, 0)
cu.cuEventRecord(end, 0)
cu.cuEventSynchronize(end)
cu.cuEventElapsedTime(start, end)  # error: [event-timing-disabled]

## C++: events made without timing [cuda]
float timed(cudaStream_t stream, int n) {
    cudaEvent_t start, stop;
    float milliseconds = 0;
    cudaEventCreateWithFlags(&start, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&stop, cudaEventDisableTiming);
    cudaEventRecord(start, stream);
    work<<<1, n, 0, stream>>>();
    cudaEventRecord(stop, stream);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&milliseconds, start, stop);  // error: [event-timing-disabled]
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return milliseconds;
}

## Python: events made without timing [python cudart]
def timed(stream, work):
    error, start = cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming)
    error, stop = cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming)
    error, = cudart.cudaEventRecord(start, stream)
    work(stream)
    error, = cudart.cudaEventRecord(stop, stream)
    error, = cudart.cudaEventSynchronize(stop)
    error, milliseconds = cudart.cudaEventElapsedTime(start, stop)  # error: [event-timing-disabled]
    error, = cudart.cudaEventDestroy(start)
    error, = cudart.cudaEventDestroy(stop)
    return milliseconds

## C#: flags of the driver [c#]
class Timer {
    [DllImport("nvcuda")] static extern int cuEventCreate(out IntPtr phEvent, CUevent_flags flags);
    [DllImport("nvcuda", EntryPoint = "cuEventDestroy_v2")] static extern int cuEventDestroy(IntPtr hEvent);
    [DllImport("nvcuda")] static extern int cuEventElapsedTime(out float milliseconds, IntPtr start, IntPtr end);

    float Timed() {
        Check(cuEventCreate(out IntPtr start, CUevent_flags.CU_EVENT_DISABLE_TIMING));
        Check(cuEventCreate(out IntPtr end, CUevent_flags.CU_EVENT_DISABLE_TIMING));
        Record(start, end);
        Check(cuEventElapsedTime(out float milliseconds, start, end));  // error: [event-timing-disabled]
        Check(cuEventDestroy(start));
        Check(cuEventDestroy(end));
        return milliseconds;
    }
}

## PyTorch: without timing [python]
import torch
def timed(work):
    start = torch.cuda.Event()
    end = torch.cuda.Event(blocking=True)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)  # error: [event-timing-disabled]

## PyTorch: one without timing [python]
import torch as th
begin = th.cuda.Event(enable_timing=True)
end = th.cuda.Event(enable_timing=False)
print(begin.elapsed_time(end))  # error: [event-timing-disabled]

## PyTorch: members [python]
import torch
class Timer:
    def __init__(self):
        self.start = torch.cuda.Event()
        self.end = torch.cuda.Event(enable_timing=True)
    def time(self):
        return self.start.elapsed_time(self.end)  # error: [event-timing-disabled]

## CuPy: without timing [python]
import cupy
def timed(work):
    start = cupy.cuda.Event(disable_timing=True)
    end = cupy.cuda.Event()
    start.record()
    work()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end)  # error: [event-timing-disabled]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        untimed = {
            event: use.argument
            for use in named(call, model, Kind.EVENT)
            if isinstance(event := use.object, Event)
            and event.alive
            and event.created_by is not None
            and not event.timing
        }
        if untimed:
            names = " and ".join(event.name for event in untimed)
            message = f"{names} {'were' if len(untimed) > 1 else 'was'} created without timing"
            because = tuple(f"{event.name} was created with CU_EVENT_DISABLE_TIMING" for event in untimed)
            yield cls.broken(message, *untimed, argument=next(iter(untimed.values())), because=because, outcomes=(400,))
