from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.rules.ownership import belongs, living_context, role_of, streams_and_context
from cuvet.rules.rule import CallRule, Violations

_RECORD_EXTERNAL = 1


class EventOtherContext(CallRule):
    """
    checks: An event is recorded on a stream of another context, or on all its streams (`cuCtxRecordEvent`): of another device, or a second
      context of the same device. Streams of a green context belong to the primary context of its device.
    why: Event and stream must have the same context, otherwise the call returns CUDA_ERROR_INVALID_HANDLE. An event belongs to the context
      that was current at its creation; with the runtime, to the device of the last `cudaSetDevice`.
    instead: Create the event while the stream's context (or device) is current, and keep one set of events per device.
    limits: Silent about events and streams whose origin was not seen.
    """

    code = "CV306"
    about_devices = True
    in_source = True
    summary = "an event is recorded on a stream of another context"
    help = "create the event while the context (or device) of the stream is current"
    kinds = frozenset({Kind.EVENT})
    verbs = frozenset({Verb.RECORDS})
    evidence = """
    measured: cuEventRecord of an event and a stream of different contexts: CUDA_ERROR_INVALID_HANDLE (stream_other_ctx)
    recorded: events on streams of a green context: no error (30 of 30) if the event is of the primary context of its
      device, else CUDA_ERROR_INVALID_HANDLE (5 of 5)
    documented: hCtx and hEvent must be from the same context. (CUDA Driver API, Context Management, cuCtxRecordEvent)
    documented: hEvent and hStream must be from the same context otherwise CUDA_ERROR_INVALID_HANDLE is returned. (CUDA
      Driver API, Event Management, cuEventRecord)
    documented: cudaEventRecord() will fail if the input event and input stream are associated to different devices.
      (CUDA C++ Programming Guide, Multi-Device System, Stream and Event Behavior)
    """
    VALID = """
## same context
note: which context is current does not matter for a stream that was created
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
event = cu.cuEventCreate(0)
cu.cuCtxPopCurrent()
cu.cuEventRecord(event, stream)
cu.cuStreamSynchronize(stream)
cu.cuCtxDestroy(own)

## waiting across contexts
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
cu.cuStreamWaitEvent(stream, event, 0)
cu.cuStreamSynchronize(stream)
cu.cuCtxDestroy(own)

## waiting across devices [devices=2]
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
stream = cu.cuStreamCreate(0)
cu.cuStreamWaitEvent(stream, event, 0)
cu.cuStreamSynchronize(stream)

## C++: a stream of another device waits for it [cuda]
void exchange() {
    cudaStream_t first, second;
    cudaEvent_t done;
    cudaSetDevice(0);
    cudaStreamCreate(&first);
    cudaEventCreate(&done);
    cudaEventRecord(done, first);
    cudaSetDevice(1);
    cudaStreamCreate(&second);
    cudaStreamWaitEvent(second, done, 0);
    cudaStreamDestroy(second);
    cudaEventDestroy(done);
    cudaStreamDestroy(first);
}

## C++: two conditions that may be one [cuda]
void exchange(bool peer, int flags) {
    cudaStream_t stream;
    cudaEvent_t done;
    cudaSetDevice(0);
    cudaStreamCreate(&stream);
    if (peer)
        cudaSetDevice(1);
    cudaEventCreate(&done);
    if (!(flags & 1))
        cudaEventRecord(done, stream);
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
}

## Python: the stream's device is current [python cupy]
def exchange():
    runtime.setDevice(1)
    stream = runtime.streamCreate()
    event = runtime.eventCreate()
    runtime.eventRecord(event, stream)
    runtime.eventDestroy(event)
    runtime.streamDestroy(stream)
"""
    INVALID = """
## two contexts of one device
first = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
second = cu.cuCtxCreate(0, 0, device)
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, stream)  # error: [event-other-context]

## default stream of the current context
first = cu.cuCtxCreate(0, 0, device)
event = cu.cuEventCreate(0)
second = cu.cuCtxCreate(0, 0, device)
cu.cuEventRecord(event, 0)  # error: [event-other-context]

## recorded on all streams of another context
own = cu.cuCtxCreate(0, 0, device)
event = cu.cuEventCreate(0)
cu.cuCtxRecordEvent(context, event)  # error: [event-other-context]

## two devices [devices=2]
event = cu.cuEventCreate(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
stream = cu.cuStreamCreate(0)
cu.cuEventRecord(event, stream)  # error: [event-other-context]

## C++: event of device 1 on a stream of device 0 [cuda]
void exchange() {
    cudaStream_t stream;
    cudaEvent_t done;
    cudaSetDevice(0);
    cudaStreamCreate(&stream);
    cudaSetDevice(1);
    cudaEventCreate(&done);
    cudaEventRecord(done, stream);  // error: [event-other-context]
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
}

## Python: event of device 1 on a stream of device 0 [python cupy]
def exchange():
    runtime.setDevice(0)
    stream = runtime.streamCreate()
    runtime.setDevice(1)
    event = runtime.eventCreate()
    runtime.eventRecord(event, stream)  # error: [event-other-context]
    runtime.eventDestroy(event)
    runtime.streamDestroy(stream)

## C#: event of device 1 on a stream of device 0 [c# class]
[DllImport("cudart64_12")] static extern int cudaSetDevice(int device);
[DllImport("cudart64_12")] static extern int cudaStreamCreate(out IntPtr stream);
[DllImport("cudart64_12")] static extern int cudaStreamDestroy(IntPtr stream);
[DllImport("cudart64_12")] static extern int cudaEventCreate(out IntPtr done);
[DllImport("cudart64_12")] static extern int cudaEventRecord(IntPtr done, IntPtr stream);
[DllImport("cudart64_12")] static extern int cudaEventDestroy(IntPtr done);

void Exchange() {
    Check(cudaSetDevice(0));
    Check(cudaStreamCreate(out IntPtr stream));
    Check(cudaSetDevice(1));
    Check(cudaEventCreate(out IntPtr done));
    Check(cudaEventRecord(done, stream));  // error: [event-other-context]
    Check(cudaEventDestroy(done));
    Check(cudaStreamDestroy(stream));
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        role = role_of(call, Verb.RECORDS, frozenset({Kind.EVENT}))
        where = streams_and_context(call, model)
        if role is None or where is None:
            return
        event = model.object_named(call, role)
        owner = living_context(event)
        stream, context = where
        if event is None or owner is None or owner is context:
            return
        if "flags" in call.entry_point.index and call.arg("flags") & _RECORD_EXTERNAL:
            return
        whole = stream is context
        yield cls.broken(
            f"{event.name} {'is not of' if whole else 'and'} {stream.name}{'' if whole else ' belong to different contexts'}",
            *dict.fromkeys((event, stream, owner, context)),
            argument=call.index(role.parameter),
            because=(belongs(event, owner), *(() if whole else (belongs(stream, context),))),
            outcomes=(400,),
        )
