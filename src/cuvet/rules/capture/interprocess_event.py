from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.objects import Event
from cuvet.model.transitions.event import EXTERNAL
from cuvet.rules.capturing import CaptureRule, begun
from cuvet.rules.rule import Violations


class CaptureInterprocessEvent(CaptureRule):
    """
    checks: An event created with `CU_EVENT_INTERPROCESS` is recorded on a capturing stream, or the stream waits for it, and the call fails.
    why: Captured work has no point in time that another process could wait for. The call returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. A
      wait also invalidates the capture, a record does not.
    instead: Use an ordinary event between streams of a capture. For other processes, record the event after the launch of the graph.
    limits: Reported only when the call fails. Silent about records with `CU_EVENT_RECORD_EXTERNAL` and waits with `CU_EVENT_WAIT_EXTERNAL`.
    """

    code = "CV818"
    summary = "an interprocess event is used on a capturing stream"
    help = "record the interprocess event after the launch of the graph"
    kinds = frozenset({Kind.EVENT})
    verbs = frozenset({Verb.RECORDS, Verb.WAITS})
    evidence = """
    recorded: all 5 records and waits on streams that capture: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; after the records
      the captures ended well, after the waits they were invalidated
    """
    VALID = """
## ordinary event
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuEventRecord(event, stream)
cu.cuStreamWaitEvent(stream, event, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## recorded after the capture
disable_timing, interprocess = 2, 4
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(disable_timing | interprocess)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuEventRecord(event, stream)
cu.cuEventSynchronize(event)
"""
    INVALID = """
## recorded
note: the capture goes on
disable_timing, interprocess = 2, 4
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(disable_timing | interprocess)
cu.cuStreamBeginCapture(stream, 0)
cu.cuEventRecord(event, stream)  # error: [capture-interprocess-event]
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## waited for
disable_timing, interprocess = 2, 4
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(disable_timing | interprocess)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamWaitEvent(stream, event, 0)  # error: [capture-interprocess-event]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        stream = model.stream_on(call)
        if stream is None or not stream.alive or stream.capture is None or stream.capture.invalidated_by is not None:
            return
        role = next(role for role in call.entry_point.roles if role.verb in cls.verbs and role.kind is Kind.EVENT)
        event = model.object_named(call, role)
        if not isinstance(event, Event) or not event.alive or not event.interprocess or _external(call):
            return
        message = f"{event.name} is an interprocess event, and {stream.name} is capturing"
        because = (begun(stream.capture),)
        yield cls.refused(message, event, stream, argument=call.index(role.parameter), because=because, outcomes=(900,))


def _external(call: Call) -> bool:
    index = call.entry_point.index
    flags = next((name for name in ("flags", "Flags") if name in index), None)
    return flags is not None and bool(call.arg(flags) & EXTERNAL)
