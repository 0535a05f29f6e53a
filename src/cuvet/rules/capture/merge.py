from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Event
from cuvet.rules.capturing import JOINED, begun
from cuvet.rules.rule import CallRule, Violations


class CaptureMerge(CallRule):
    """
    checks: A capturing stream is made to wait for an event of another capture that is not yet ended, and the call fails.
    why: The two captures make two graphs, and there are no dependencies between graphs. The call returns CUDA_ERROR_STREAM_CAPTURE_MERGE.
    instead: Begin one capture and let the other stream join it by waiting for an event of it. Or order the launches of the two graphs.
    limits: Reported only when the call fails.
    """

    code = "CV809"
    summary = "a capturing stream waits for an event of another capture"
    help = "begin one capture only and let the other stream join it through an event"
    entry_points = frozenset({"cuStreamWaitEvent"})
    evidence = """
    measured: CUDA_ERROR_STREAM_CAPTURE_MERGE, and both captures are invalidated (capture_merge)
    documented: a capturing stream must not wait for a captured event of another capture (CUDA C++ Programming Guide,
      CUDA Graphs, Prohibited and Unhandled Operations)
    documented: the call would merge two captures (CUDA Driver API, Data types, CUDA_ERROR_STREAM_CAPTURE_MERGE)
    """
    VALID = JOINED
    VALID += """
## two captures side by side
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(first, 0)
cu.cuStreamBeginCapture(second, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(first))
cu.cuGraphDestroy(cu.cuStreamEndCapture(second))
"""
    INVALID = """
## event of the other capture
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
event = cu.cuEventCreate(0)
cu.cuStreamBeginCapture(first, 0)
cu.cuStreamBeginCapture(second, 0)
cu.cuEventRecord(event, first)
cu.cuStreamWaitEvent(second, event, 0)  # error: [capture-merge]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        stream = model.stream_of(call, call.index("hStream"))
        if stream is None or stream.capture is None or stream.capture.invalidated_by:
            return
        argument = call.index("hEvent")
        event = model.object_of(call, argument, Kind.EVENT)
        other = event.captured if isinstance(event, Event) and event.alive else None
        if event is not None and other is not None and other is not stream.capture and other.ended_by is None:
            own, because = stream.capture.origin, (begun(other), begun(stream.capture))
            message = f"{event.name} belongs to the capture of {other.origin.name}, not to that of {own.name}"
            yield cls.refused(message, event, stream, other.origin, argument=argument, because=because, outcomes=(902,))
