from cuvet.catalog import EntryPoint
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.naming import was_recorded
from cuvet.model.objects import Event
from cuvet.rules.capturing import CaptureRule, begun
from cuvet.rules.lifecycle import named
from cuvet.rules.rule import Violations


class CaptureEventWait(CaptureRule):
    """
    checks: The host waits for, queries, or takes the time from or to an event that was last recorded in a capturing stream.
    why: Such an event stands for nodes of the graph, not for work that runs. During the capture the call returns CUDA_ERROR_CAPTURED_EVENT
      and invalidates the capture. After the capture it was measured to return CUDA_ERROR_INVALID_VALUE.
    instead: Record another event after the launch of the graph and wait for that. Or record with `CU_EVENT_RECORD_EXTERNAL`.
    limits: Reported only when the call fails.
    """

    code = "CV802"
    summary = "the host waits for an event that was recorded in a capture"
    help = "record another event after the graph is launched and wait for that one"
    kinds = frozenset({Kind.EVENT})
    verbs = frozenset({Verb.BLOCKS, Verb.QUERIES})
    evidence = """
    recorded: in a capture that was invalidated: CUDA_ERROR_INVALID_VALUE, from cuEventElapsedTime too
    measured: queried or waited for after the capture: CUDA_ERROR_INVALID_VALUE, until it is recorded again
      (capture_event_afterwards)
    measured: during the capture: CUDA_ERROR_CAPTURED_EVENT, and the capture is invalidated; after it:
      CUDA_ERROR_INVALID_VALUE (capture_event_sync_of_captured, capture_calls_global)
    documented: the event was last recorded in a capturing stream (CUDA Driver API, Data types,
      CUDA_ERROR_CAPTURED_EVENT)
    documented: a captured event cannot be synchronised or queried (CUDA C++ Programming Guide, CUDA Graphs, Prohibited
      and Unhandled Operations)
    """
    VALID = """
## recorded again after the launch
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuEventRecord(event, stream)
graph = cu.cuStreamEndCapture(stream)
cu.cuGraphLaunch(cu.cuGraphInstantiateWithFlags(graph, 0), stream)
cu.cuEventRecord(event, stream)
cu.cuEventSynchronize(event)

## event recorded before the capture
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuEventRecord(event, stream)
cu.cuEventSynchronize(event)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""
    INVALID = """
## queried during the capture
relaxed = 2
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, relaxed)
cu.cuEventRecord(event, stream)
cu.cuEventQuery(event)  # error: [capture-event-wait]

## waited for during the capture
relaxed = 2
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, relaxed)
cu.cuEventRecord(event, stream)
cu.cuEventSynchronize(event)  # error: [capture-event-wait]

## queried after the capture
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuEventRecord(event, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuEventQuery(event)  # error: [capture-event-wait]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return super().applies_to(entry_point) or entry_point.name == "cuEventElapsedTime"

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use in named(call, model, Kind.EVENT):
            event = use.object
            if isinstance(event, Event) and event.alive and event.captured is not None:
                capture, message = event.captured, f"{event.name} was recorded in a capture"
                outcomes = (1,) if capture.ended_by or capture.invalidated_by else (907,)
                yield cls.refused(
                    message, event, capture.origin, argument=use.argument, because=(begun(capture),), outcomes=outcomes
                )
                return
            if isinstance(event, Event) and call.name == "cuEventElapsedTime" and _refused(call, use.argument, event):
                return


def _refused(call: Call, argument: int, event: Event) -> bool:
    """Whether the time from this event on is not there anyway: of two events the driver looks at the first before the second."""
    has_time = event.timing and was_recorded(call, argument, event)
    return event.alive and event.created_by is not None and not has_time
