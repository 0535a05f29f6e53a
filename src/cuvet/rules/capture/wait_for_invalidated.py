from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Event
from cuvet.rules.capturing import begun
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations


class CaptureWaitForInvalidated(CallRule):
    """
    checks: A stream is made to wait for an event last recorded in an invalidated capture that has not ended, and the call fails.
    why: The event stands for a place in a capture, and no stream can join an invalidated one: the call returns CUDA_ERROR_INVALID_VALUE.
    instead: End the capture, which returns CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, and record the event again.
    limits: Reported only when the call fails. Silent after the end of the capture, because no such call was recorded.
    """

    code = "CV816"
    summary = "a stream waits for an event of an invalidated capture"
    help = "end the capture, and record the event again"
    entry_points = frozenset({"cuStreamWaitEvent"})
    evidence = """
    recorded: cuStreamWaitEvent for an event recorded in a capture that was invalidated: CUDA_ERROR_INVALID_VALUE
    documented: using streams or events of an invalidated capture is an error until it is ended (CUDA Programming Guide,
      CUDA Graphs, Invalidation)
    """
    VALID = """
## joined while the capture goes on
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
event = cu.cuEventCreate(0)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(event, first)
cu.cuStreamWaitEvent(second, event, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(first))

## recorded again after the capture
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
event = cu.cuEventCreate(0)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(event, first)
cu.cuGraphDestroy(cu.cuStreamEndCapture(first))
cu.cuEventRecord(event, first)
cu.cuStreamWaitEvent(second, event, 0)
"""
    INVALID = """
## event of a broken capture
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
event = cu.cuEventCreate(0)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(event, first)
cu.cuMemAlloc(4096)  # error: [capture-unsafe-call]
cu.cuStreamWaitEvent(second, event, 0)  # error: [capture-wait-for-invalidated]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        argument = call.index("hEvent")
        event = model.object_of(call, argument, Kind.EVENT)
        capture = event.captured if isinstance(event, Event) and event.alive else None
        if event is None or capture is None or capture.invalidated_by is None:
            return
        yield cls.broken(
            f"the capture in which {event.name} was recorded is invalidated",
            event,
            capture.origin,
            argument=argument,
            because=(begun(capture), f"it was invalidated by {place(capture.invalidated_by)}"),
            outcomes=(1,),
            only_if_failed=True,
            cause=capture.invalidated_by,
        )
