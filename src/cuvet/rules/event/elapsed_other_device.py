from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.lifecycle import named
from cuvet.rules.rule import CallRule, Violations


class EventElapsedOtherDevice(CallRule):
    """
    checks: The program asks for the elapsed time between events of two devices.
    why: CUDA does not compare the clocks of two devices: the call returns CUDA_ERROR_INVALID_HANDLE.
    instead: Measure on each device with two of its events, or take the time on the host after waiting for the events.
    limits: Silent about events whose origin was not seen.
    """

    code = "CV309"
    about_devices = True
    in_source = True
    summary = "the program asks for the time between events of two devices"
    help = "measure with two events of the same device"
    entry_points = frozenset({"cuEventElapsedTime"})
    evidence = """
    measured: CUDA_ERROR_INVALID_HANDLE (event_elapsed_two_devices)
    documented: cudaEventElapsedTime() will fail if the two input events are associated to different devices. (CUDA C++
      Programming Guide, Multi-Device System, Stream and Event Behavior)
    """
    VALID = """
## events of one device [devices=2]
note: which device is current does not matter
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
start, end = cu.cuEventCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(start, 0)
cu.cuEventRecord(end, 0)
cu.cuCtxSetCurrent(context)
cu.cuEventSynchronize(end)
cu.cuEventElapsedTime(start, end)

## events of two streams
start, end = cu.cuEventCreate(0), cu.cuEventCreate(0)
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
cu.cuEventRecord(start, first)
cu.cuEventRecord(end, second)
cu.cuCtxSynchronize()
cu.cuEventElapsedTime(start, end)

## C++: both of one device [cuda]
float copied(void *to, const void *from, size_t bytes) {
    cudaEvent_t start, stop;
    float milliseconds = 0;
    cudaSetDevice(0);
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    cudaMemcpyPeerAsync(to, 1, from, 0, bytes);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    cudaSetDevice(1);
    cudaEventElapsedTime(&milliseconds, start, stop);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return milliseconds;
}
"""
    INVALID = """
## events of two devices [devices=2]
start = cu.cuEventCreate(0)
cu.cuEventRecord(start, 0)
cu.cuEventSynchronize(start)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
end = cu.cuEventCreate(0)
cu.cuEventRecord(end, 0)
cu.cuEventSynchronize(end)
cu.cuEventElapsedTime(start, end)  # error: [event-elapsed-other-device]

## C++: from one device to the other [cuda]
float copied(void *to, const void *from, size_t bytes) {
    cudaEvent_t start, stop;
    float milliseconds = 0;
    cudaSetDevice(0);
    cudaEventCreate(&start);
    cudaEventRecord(start);
    cudaMemcpyPeerAsync(to, 1, from, 0, bytes);
    cudaSetDevice(1);
    cudaEventCreate(&stop);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&milliseconds, start, stop);  // error: [event-elapsed-other-device]
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return milliseconds;
}

## Python: from one device to the other [python cupy]
def copied(copy):
    runtime.setDevice(0)
    start = runtime.eventCreate()
    runtime.eventRecord(start, 0)
    copy()
    runtime.setDevice(1)
    stop = runtime.eventCreate()
    runtime.eventRecord(stop, 0)
    runtime.eventSynchronize(stop)
    milliseconds = runtime.eventElapsedTime(start, stop)  # error: [event-elapsed-other-device]
    runtime.eventDestroy(start)
    runtime.eventDestroy(stop)
    return milliseconds
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        events = [use.object for use in named(call, model, Kind.EVENT) if use.object is not None and use.object.alive]
        if len(events) == 2 and None not in {event.device for event in events} and events[0].device != events[1].device:
            message = f"{events[0].name} and {events[1].name} belong to different devices"
            because = tuple(f"{event.name} belongs to device {event.device}" for event in events)
            yield cls.broken(message, *events, because=because, outcomes=(400,))
