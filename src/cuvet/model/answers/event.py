"""Events: whether their work is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_HANDLE, NOT_READY, SUCCESS
from cuvet.catalog.roles import Kind
from cuvet.model.answers.registry import returned_by
from cuvet.model.objects import Event, Stream

if TYPE_CHECKING:
    from cuvet.catalog.roles import Role
    from cuvet.model.call import Call
    from cuvet.model.view import ModelView


def of_query(model: ModelView, call: Call, role: Role) -> tuple[int, ...]:
    """Of the legacy stream it is not known: copies that name no stream need not be done when the call returns."""
    found = model.object_of(call, call.entry_point.index[role.parameter], role.kind)
    if isinstance(found, Stream):
        drained = model.complete and not found.legacy and model.order.is_drained(found)
        return (SUCCESS,) if drained else (SUCCESS, NOT_READY)
    if isinstance(found, Event):
        return _readiness(model, _unfinished(model, found))
    return (SUCCESS, NOT_READY)


@returned_by("cuEventElapsedTime")
def of_elapsed_time(model: ModelView, call: Call) -> tuple[int, ...]:
    """Whether a graph has recorded an event is not seen."""
    events = [model.object_of(call, call.entry_point.index[name], Kind.EVENT) for name in ("hStart", "hEnd")]
    if any(isinstance(event, Event) and event.external and event.recorded_by is None for event in events):
        return (INVALID_HANDLE, SUCCESS, NOT_READY)
    unfinished = [event for event in events if isinstance(event, Event) and _unfinished(model, event) is not None]
    return (SUCCESS, NOT_READY) if unfinished else (SUCCESS,)


def _unfinished(model: ModelView, event: Event) -> Call | None:
    """The record of the event if the host does not know that it is done; of all streams of a context, it never knows."""
    record = event.recorded_by
    if record is None or (record.position is not None and model.finished(record)):
        return None
    return record


def _readiness(model: ModelView, unfinished: Call | None) -> tuple[int, ...]:
    """Work that nobody has waited for may be done all the same, and work that nobody saw may be pending."""
    return (SUCCESS,) if unfinished is None and model.complete else (SUCCESS, NOT_READY)
