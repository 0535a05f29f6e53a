from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.rules.rule import CallRule, Violations

_EXTERNAL = 1
_FLAGS = {"cuStreamWaitEvent": "Flags", "cuEventRecordWithFlags": "flags"}


class EventExternalOutsideCapture(CallRule):
    """
    checks: A call uses `CU_EVENT_WAIT_EXTERNAL` or `CU_EVENT_RECORD_EXTERNAL` on a stream that is not capturing.
    why: The flag creates an event node in the captured graph. Without a capture the call does nothing and returns CUDA_ERROR_ILLEGAL_STATE.
    instead: Use the flag only while the stream is capturing (`cuStreamIsCapturing`), and no flags otherwise.
    limits: Silent about streams and events whose origin was not seen.
    """

    code = "CV310"
    summary = "an event gets the external flag outside of a capture"
    help = "use the flag only while the stream is capturing"
    entry_points = frozenset(_FLAGS)
    evidence = """
    recorded: cuStreamWaitEvent and cuEventRecordWithFlags with flags 1 on a stream that is not capturing:
      CUDA_ERROR_ILLEGAL_STATE
    documented: CU_EVENT_WAIT_EXTERNAL and CU_EVENT_RECORD_EXTERNAL make an event node while a stream is captured, and
      are invalid outside of a capture (CUDA Driver API, Stream Management, cuStreamWaitEvent, and Event Management,
      cuEventRecordWithFlags)
    """
    VALID = """
## in a capture
external = 1
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuEventRecordWithFlags(event, stream, external)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## without the flag
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuEventRecordWithFlags(event, stream, 0)
cu.cuStreamWaitEvent(stream, event, 0)
"""
    INVALID = """
## recorded
external = 1
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuEventRecordWithFlags(event, stream, external)  # error: [event-external-outside-capture]

## waited for
external = 1
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(event, stream)
cu.cuStreamWaitEvent(stream, event, external)  # error: [event-external-outside-capture]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if call.arg(_FLAGS[call.name]) != _EXTERNAL:
            return
        stream = model.stream_on(call)
        event = model.object_of(call, call.index("hEvent"), Kind.EVENT)
        if stream is not None and stream.alive and stream.capture is None and event is not None and event.alive:
            message = f"the external flag ({_EXTERNAL}) is given, and {stream.name} is not capturing"
            yield cls.broken(message, event, stream, argument=call.index(_FLAGS[call.name]), outcomes=(401,))
