"""Events: records, waits, and whether their work is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_HANDLE, NOT_READY, SUCCESS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.naming import events_recorded, was_recorded
from cuvet.model.objects import DISABLE_TIMING, INTERPROCESS, Event, Stream
from cuvet.model.order import is_work
from cuvet.model.transitions import capture
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles, returned_by

if TYPE_CHECKING:
    from cuvet.catalog.roles import Role
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.view import ModelView

EXTERNAL = 1
"""CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL."""


def event_of(model: Model, call: Call, role: Role) -> Event | None:
    found = model.object_of(call, call.entry_point.index[role.parameter], Kind.EVENT)
    return found if isinstance(found, Event) else None


@for_role(Verb.RECORDS)
def record(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """An event recorded on a capturing stream stands for a place in the capture, not for work."""
    event = event_of(model, call, role)
    if event is not None:
        _record(model, call, model.stream_on(call), event)


@after_roles("cuLaunchKernelEx")
def record_by_attributes(model: Model, call: Call, outcome: Outcome) -> None:
    """Such an event can come before the launch has ended, and be seen later (CUDA Driver API, CUlaunchAttributeID). What waits for it may
    come after the launch all the same (the kernel may trigger the event last): it counts as ordered, so that nothing is accused."""
    for handle in events_recorded(call):
        event = model.find(Kind.EVENT, handle)
        if isinstance(event, Event) and event.alive:
            _record(model, call, model.stream_on(call), event)


def _record(model: Model, call: Call, stream: Stream | None, event: Event) -> None:
    if stream is not None and stream.capture is not None:
        if "flags" in call.entry_point.index and parameter(call, "flags") & EXTERNAL:
            event.external = True
            stream.capture.events.append(event)
        else:
            capture.record(stream.capture, stream, event)
        return
    event.captured = None
    event.recorded_by, event.recorded_on = call, stream
    event.clock = model.order.record(stream)
    if stream is not None and model.touches is not None:
        stream.recorded = (call, event)


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
        stream.capture.waits = True
        if event is not None and parameter(call, "Flags") & EXTERNAL:
            stream.capture.events.append(event)
    elif event is None or event.external or event.interprocess or _is_unclear(call, role, event):
        model.order.wait(stream, None)
    elif event.clock is not None:
        model.order.wait(stream, event.clock)
        if model.touches is not None and event.recorded_on is not None and event.recorded_by is not None:
            stream.waited[event.recorded_on] = (call, event.recorded_by, event)


def _is_unclear(call: Call, role: Role, event: Event) -> bool:
    """Whether the event was recorded after work that is not known."""
    return event.clock is None and was_recorded(call, call.entry_point.index[role.parameter], event)


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
    event = model.find(Kind.EVENT, output(call, outcome, "phEvent"))
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


def of_query(model: ModelView, call: Call, role: Role) -> tuple[int, ...]:
    """Of the legacy stream it is not known: copies that name no stream need not be done when the call returns. Work that nobody has
    waited for may be done all the same, and work that nobody saw may be pending."""
    found = model.object_of(call, call.entry_point.index[role.parameter], role.kind)
    if isinstance(found, Stream):
        drained = model.all_work and not found.legacy and model.order.is_drained(found)
        return (SUCCESS,) if drained else (SUCCESS, NOT_READY)
    if isinstance(found, Event):
        return (SUCCESS,) if model.all_work and _unfinished(model, found) is None else (SUCCESS, NOT_READY)
    return (SUCCESS, NOT_READY)


@returned_by("cuEventElapsedTime")
def of_elapsed_time(model: ModelView, call: Call) -> tuple[int, ...]:
    """Whether a graph has recorded an event is not seen."""
    places = [call.entry_point.index[name] for name in ("hStart", "hEnd")]
    named = [(place, model.object_of(call, place, Kind.EVENT)) for place in places]
    events = [(place, event) for place, event in named if isinstance(event, Event)]
    if any(event.external and event.recorded_by is None for _, event in events):
        return (INVALID_HANDLE, SUCCESS, NOT_READY)
    unfinished = [
        event
        for place, event in events
        if _unfinished(model, event) is not None or (event.recorded_by is None and was_recorded(call, place, event))
    ]
    return (SUCCESS, NOT_READY) if unfinished else (SUCCESS,)


def _unfinished(model: ModelView, event: Event) -> Call | None:
    """The record of the event if the host does not know that it is done; of all streams of a context, and of a launch that recorded it by
    an attribute, it never knows."""
    record = event.recorded_by
    of_launch = record is not None and is_work(record.entry_point)
    if record is None or (record.position is not None and not of_launch and model.finished(record)):
        return None
    return record
