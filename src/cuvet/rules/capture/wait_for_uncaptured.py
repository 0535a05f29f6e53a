from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.naming import was_recorded
from cuvet.model.objects import Event
from cuvet.rules.capturing import JOINED, begun
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations

_WAIT_EXTERNAL = 1


class CaptureWaitForUncaptured(CallRule):
    """
    checks: A capturing stream is made to wait for an event that was recorded outside any capture, and the call fails.
    why: Captured work would depend on work that is not captured, which a graph cannot express. The call returns
      CUDA_ERROR_STREAM_CAPTURE_ISOLATION and invalidates the capture.
    instead: Make the stream wait before the capture begins, or record the event on a stream of the capture. Or wait with
      `CU_EVENT_WAIT_EXTERNAL`, which makes an event node.
    limits: Reported only when the call fails.
    """

    code = "CV808"
    summary = "a capturing stream waits for an event that was recorded outside the capture"
    help = "wait before the capture begins, or record the event on a stream of the capture"
    entry_points = frozenset({"cuStreamWaitEvent"})
    evidence = """
    measured: CUDA_ERROR_STREAM_CAPTURE_ISOLATION, and the capture is invalidated; an event that was never recorded: no
      error (capture_wait_for_uncaptured)
    documented: a capturing stream must not wait for an event that is not captured (CUDA C++ Programming Guide, CUDA
      Graphs, Prohibited and Unhandled Operations)
    documented: a dependency would cross the boundary of the capture (CUDA Driver API, Data types,
      CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    """
    VALID = JOINED
    VALID += """
## waited before the capture
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
cu.cuStreamWaitEvent(stream, event, 0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## external wait
external = 1
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamWaitEvent(stream, event, external)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""
    INVALID = """
## event recorded before the capture
non_blocking = 1
stream, event = cu.cuStreamCreate(non_blocking), cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamWaitEvent(stream, event, 0)  # error: [capture-wait-for-uncaptured]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        stream = model.stream_of(call, call.index("hStream"))
        if stream is None or stream.capture is None or stream.capture.invalidated_by:
            return
        if call.arg("Flags") & _WAIT_EXTERNAL:
            return
        argument = call.index("hEvent")
        event = model.object_of(call, argument, Kind.EVENT)
        if not isinstance(event, Event) or not event.alive or event.external:
            return
        if event.captured is None and was_recorded(call, argument, event):
            message = f"{event.name} was recorded outside the capture of {stream.capture.origin.name}"
            record = event.recorded_by
            by = (f"{event.name} was recorded by {place(record)}",) if record is not None else ()
            because = (*by, begun(stream.capture))
            yield cls.refused(message, event, stream, argument=argument, because=because, outcomes=(905,))
