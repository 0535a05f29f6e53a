from dataclasses import replace

from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_CONTEXT, USED_AFTER_DESTROY
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH, Violations

CHECK_THE_POINTER = (
    "cuGraphAddEventRecordNode",
    "cuGraphAddEventWaitNode",
    "cuGraphAddNode",
    "cuGraphEventRecordNodeSetEvent",
    "cuGraphEventWaitNodeSetEvent",
    "cuGraphExecEventRecordNodeSetEvent",
    "cuGraphExecEventWaitNodeSetEvent",
    "cuGraphExecNodeSetParams",
    "cuGraphNodeSetParams",
    "cuIpcGetEventHandle",
)
"""They refuse NULL as a value and not as a handle: the event becomes part of a graph, or is to be shared."""


class OfGreenContext(ParentGone):
    """What was made in a green context dies in the call, or nothing is wrong."""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for violation in super().check(call, model):
            of_green = violation.objects[-1].kind is Kind.GREEN_CONTEXT
            yield replace(violation, outcomes=(CRASH,), only_if_failed=True) if of_green else violation


LIFE = Life(
    kind=Kind.EVENT,
    name="event",
    make="cu.cuEventCreate(0)",
    use="cu.cuEventQuery({})",
    another_use="cu.cuEventRecord({}, 0)",
    end="cu.cuEventDestroy({})",
    other="cu.cuStreamCreate(0)",
    undefined="CUDA Runtime API, Event Management, cudaEventDestroy",
    cpp=Spelled(
        type="cudaEvent_t", make="cudaEventCreate(&event)", use="cudaEventQuery(event)", end="cudaEventDestroy(event)"
    ),
    python=Spelled(
        make="error, event = driver.cuEventCreate(0)",
        use="error, = driver.cuEventQuery(event)",
        end="error, = driver.cuEventDestroy(event)",
    ),
    csharp=Spelled(
        type="CUevent",
        variable="done",
        make="Events.cuEventCreate(ref done, CUEventFlags.Default)",
        use="Events.cuEventSynchronize(done)",
        end="Events.cuEventDestroy_v2(done)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV301", (CRASH,)),
        Mistake(DESTROYED_TWICE, "CV302", (CRASH,)),
        Mistake(NULL_HANDLE, "CV303", (400,), outcomes_of=dict.fromkeys(CHECK_THE_POINTER, (1,))),
        Mistake(NEVER_CREATED, "CV304", (CRASH, 709, 400), mistaken={Kind.STREAM: (709, 400)}),
        Mistake(
            USED_AFTER_CONTEXT,
            "CV305",
            (709,),
            roots=frozenset({Kind.CONTEXT, Kind.GREEN_CONTEXT}),
            kills=frozenset({Kind.GREEN_CONTEXT}),
            rule=OfGreenContext,
        ),
    ),
)

TEXTS = """
# event-use-after-destroy
why: The handle points at memory that the driver has released. The call was measured to die of SIGSEGV inside the
  driver, with no error code.
measured: recording, querying, synchronising, waiting for and timing a destroyed event: SIGSEGV in the driver, no error
  code (event_record_after_destroy, event_query_after_destroy, event_sync_after_destroy, event_wait_after_destroy,
  event_elapsed_after_destroy)
documented: {undefined}

# event-use-after-destroy: right

## destroyed while work is pending
note: an event may be destroyed before it is complete
event = cu.cuEventCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuEventRecord(event, 0)
cu.cuEventDestroy(event)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## Python: destroyed after the question [python driver]
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

# event-use-after-destroy: wrong

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

# event-destroy-twice
why: The handle points at memory that the driver has released. The second destruction was measured to die of SIGSEGV
  inside the driver, with no error code.
measured: SIGSEGV in the driver, no error code (event_destroy_twice)
documented: {undefined}

# event-destroy-twice: right

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

## Python: one event for each stream [python cupy]
def record(streams):
    for stream in streams:
        event = runtime.eventCreate()
        runtime.eventRecord(event, stream)
        runtime.eventSynchronize(event)
        runtime.eventDestroy(event)

# event-null-handle
why: There is no default event. The calls were measured to return CUDA_ERROR_INVALID_HANDLE; `cuIpcGetEventHandle` and
  calls that add an event to a graph node return CUDA_ERROR_INVALID_VALUE.
recorded: cuGraphAddEventRecordNode, cuGraphAddEventWaitNode and cuIpcGetEventHandle: CUDA_ERROR_INVALID_VALUE
measured: record, synchronise, query, destroy, elapsed time and wait: CUDA_ERROR_INVALID_HANDLE (event_null_record,
  event_destroy_null, event_elapsed_null)

# event-null-handle: wrong

## recorded
cu.cuEventRecord(0, 0)  # error: [event-null-handle]

## put into a graph
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEventRecordNode(graph, None, 0, 0)  # error: [event-null-handle]

# event-never-created
why: The driver uses the handle as a pointer: an invalid address was measured to die of SIGSEGV inside it.
measured: cuEventQuery of a stream: CUDA_ERROR_CONTEXT_IS_DESTROYED (stream_handle_of_event)
measured: cudaEventQuery((cudaEvent_t)0xdeadbeef): SIGSEGV in the driver (event_garbage)
documented: {invalid_handle}

# event-never-created: right

## C++: an event behind a pointer to void [c++]
void destroy_all() {
    cudaEvent_t event;
    cudaEventCreate(&event);
    void *handle = event;
    record(event);
    cudaEventDestroy((cudaEvent_t)handle);
}

## Python: arguments in order [python cupy]
def mark(event):
    stream = runtime.streamCreate()
    runtime.eventRecord(event, stream)
    runtime.streamDestroy(stream)

# event-never-created: wrong

## C++: a stream behind a pointer to void [c++]
void destroy_all() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    void *handle = stream;
    run(stream);
    cudaEventDestroy((cudaEvent_t)handle);  // error: [event-never-created]
}

## Python: arguments in the wrong order [python cupy]
def mark(event):
    stream = runtime.streamCreate()
    runtime.eventRecord(stream, event)  # error: [event-never-created]
    runtime.streamDestroy(stream)

## C#: handles as IntPtr [c# class]
[DllImport("cudart64_12")] static extern int cudaStreamCreate(out IntPtr stream);
[DllImport("cudart64_12")] static extern int cudaEventDestroy(IntPtr done);

void Run() {
    Check(cudaStreamCreate(out IntPtr stream));
    Launch(stream);
    Check(cudaEventDestroy(stream));  // error: [event-never-created]
}

# event-use-after-context-destroy
why: Destroying a context destroys its events. The documentation calls later calls with them undefined. They were
  measured to return CUDA_ERROR_CONTEXT_IS_DESTROYED, or to kill the process in cuEventSynchronize if the context was of
  a green context.
measured: querying and destroying it: CUDA_ERROR_CONTEXT_IS_DESTROYED (context_destroy_then_event_destroy)
measured: made in a green context's context, where nothing else retains the primary context: cuEventSynchronize after
  cuGreenCtxDestroy kills the process (green_gone_event)
documented: cuGreenCtxCreate retains the primary context of the device, until the green context is destroyed (CUDA
  Driver API, Green Contexts, cuGreenCtxCreate)
documented: a primary context is reset once the last reference to it is released (CUDA Driver API, Primary Context
  Management, cuDevicePrimaryCtxRelease)

# event-use-after-context-destroy: right

## of a green context, while the primary context is retained [no-setup]
note: a green context's context is the primary one with fewer multiprocessors (cuCtxFromGreenCtx)
cu.cuInit(0)
green = cu.green_context()
cu.cuCtxSetCurrent(cu.cuCtxFromGreenCtx(green))
event = cu.cuEventCreate(0)
primary = cu.cuDevicePrimaryCtxRetain(0)
cu.cuGreenCtxDestroy(green)
cu.cuCtxSetCurrent(primary)
cu.cuEventSynchronize(event)
cu.cuEventDestroy(event)

# event-use-after-context-destroy: wrong

## of a green context that was all that retained the primary context [no-setup]
cu.cuInit(0)
green = cu.green_context()
cu.cuCtxSetCurrent(cu.cuCtxFromGreenCtx(green))
event = cu.cuEventCreate(0)
cu.cuGreenCtxDestroy(green)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
cu.cuEventSynchronize(event)  # error: [event-use-after-context-destroy]
"""
