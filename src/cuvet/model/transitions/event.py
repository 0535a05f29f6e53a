"""Events: records and waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import DISABLE_TIMING, INTERPROCESS, Event
from cuvet.model.transitions import capture
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model

EXTERNAL = 1
"""CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL."""


def event_of(model: Model, call: Call, role: Role) -> Event | None:
    found = model.object_of(call, call.entry_point.index[role.parameter], Kind.EVENT)
    return found if isinstance(found, Event) else None


@for_role(Verb.RECORDS)
def record(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """An event recorded on a capturing stream stands for a place in the capture, not for work."""
    event = event_of(model, call, role)
    if event is None:
        return
    stream = model.stream_on(call)
    if stream is not None and stream.capture is not None:
        if parameter(call, "flags") & EXTERNAL:
            event.external = True
            stream.capture.events.append(event)
        else:
            capture.record(stream.capture, stream, event)
        return
    event.captured = None
    event.recorded_by, event.recorded_on = call, stream
    event.clock = model.order.record(stream)


@for_role(Verb.WAITS)
def wait(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """A stream that waits for an event of a capture joins that capture."""
    stream = model.stream_on(call)
    if stream is None:
        return
    event = event_of(model, call, role)
    if event is not None and event.captured is not None:
        if event.captured.ended_by is None:
            capture.join(event.captured, stream, event)
        else:
            model.order.wait(stream, None)  # it was recorded again unseen, or this wait would have failed
    elif stream.capture is not None:
        model.graphs_wait = True
        if event is not None and parameter(call, "Flags") & EXTERNAL:
            stream.capture.events.append(event)
    elif event is None or event.external or event.interprocess or (event.recorded_by and event.clock is None):
        model.order.wait(stream, None)
    elif event.clock is not None:
        model.order.wait(stream, event.clock)


@instead_of_roles("cuCtxRecordEvent", "cuGreenCtxRecordEvent")
def record_context(model: Model, call: Call, outcome: Outcome) -> None:
    event = model.object_of(call, call.entry_point.index["hEvent"], Kind.EVENT)
    if isinstance(event, Event):
        event.captured = None
        event.recorded_by, event.recorded_on, event.clock = call, None, None


@instead_of_roles("cuCtxWaitEvent", "cuGreenCtxWaitEvent")
def wait_context(model: Model, call: Call, outcome: Outcome) -> None:
    """All streams of the context wait: nothing is claimed about their order any more."""
    context = model.context_at(parameter(call, "hCtx"))
    for stream in model.streams():
        if context is None or stream.context is context:
            model.order.doubt(stream)


@after_roles("cuIpcOpenEventHandle", "cuEventCreateFromEGLSync")
def open_external(model: Model, call: Call, outcome: Outcome) -> None:
    handle = output(call, outcome, "phEvent")
    event = model.find(Kind.EVENT, handle) if handle else None
    if isinstance(event, Event):
        event.external = True
        event.flags = INTERPROCESS | DISABLE_TIMING


@after_roles(
    "cuGraphAddEventRecordNode",
    "cuGraphEventRecordNodeSetEvent",
    "cuGraphExecEventRecordNodeSetEvent",
    "cuIpcGetEventHandle",
)
def record_elsewhere(model: Model, call: Call, outcome: Outcome) -> None:
    """From now on the event may be recorded without a call that says so."""
    event = model.object_of(call, call.entry_point.index["event"], Kind.EVENT)
    if isinstance(event, Event):
        event.external = True
