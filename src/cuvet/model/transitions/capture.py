"""Stream capture: begun, joined, broken, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import Capture, Event, Stream
from cuvet.model.transitions.object import parameter
from cuvet.model.transitions.registry import for_role, instead_of_roles

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model

UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT = 900, 901, 902, 903, 904, 905, 906
"""CUDA_ERROR_STREAM_CAPTURE_…"""

CAPTURED_EVENT, WRONG_THREAD = 907, 908
"""CUDA_ERROR_CAPTURED_EVENT and CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD."""

RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED."""

_BREAKS = frozenset({UNSUPPORTED, MERGE, ISOLATION, IMPLICIT, CAPTURED_EVENT})


@for_role(Verb.BEGINS_CAPTURE)
def begin(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    index = call.entry_point.index.get(role.parameter) if role.kind is Kind.STREAM else None
    stream = model.stream_on(call) if index is None else model.stream_of(call, index)
    if stream is None:
        return
    mode = min(parameter(call, "mode"), RELAXED)
    capture = Capture(origin=stream, mode=mode, thread=call.thread, begun_by=call, streams=[stream])
    stream.capture = capture
    model.live_captures.append(capture)


@for_role(Verb.ENDS_CAPTURE)
def end(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    stream = _stream(model, call)
    if stream is not None and stream.capture is not None:
        finish(model, call, stream.capture)


def finish(model: Model, call: Call, capture: Capture) -> None:
    capture.ended_by = call
    for stream in capture.streams:
        if stream.capture is capture:
            stream.capture = None
    if capture in model.live_captures:
        model.live_captures.remove(capture)


def enqueue(capture: Capture, stream: Stream) -> None:
    """Work is captured on ``stream``."""
    reached = capture.reached.setdefault(stream, {})
    reached[stream] = capture.works[stream] = capture.works.get(stream, 0) + 1


def record(capture: Capture, stream: Stream, event: Event) -> None:
    """``event`` stands for what is captured on ``stream`` so far."""
    event.captured = capture
    event.reached = {stream: 0, **capture.reached.get(stream, {})}


def join(capture: Capture, stream: Stream, event: Event) -> None:
    """``stream`` waits for an event that was recorded in ``capture``."""
    if stream.capture is None:
        stream.capture = capture
        capture.streams.append(stream)
    reached = capture.reached.setdefault(stream, {})
    for other, work in event.reached.items():
        reached[other] = max(work, reached.get(other, 0))


@instead_of_roles("cuThreadExchangeStreamCaptureMode")
def exchange_mode(model: Model, call: Call, outcome: Outcome) -> None:
    data = call.inputs.get(0, b"")
    if len(data) >= 4:
        model.thread(call.thread).capture_mode = int.from_bytes(data[:4], "little")


def observe_failure(model: Model, call: Call, status: int) -> None:
    """A call that is refused on account of a capture breaks it, as does an end on a stream that only joined; other failed ends
    still end it."""
    if status in _BREAKS:
        for capture in _disturbed(model, call):
            if capture.invalidated_by is None:
                capture.invalidated_by = call
    elif status in (INVALIDATED, UNMATCHED, UNJOINED, WRONG_THREAD) and _ends(call):
        stream = _stream(model, call)
        if stream is None or stream.capture is None:
            return
        if status != UNMATCHED:
            finish(model, call, stream.capture)
        elif stream.capture.invalidated_by is None:
            stream.capture.invalidated_by = call


def _disturbed(model: Model, call: Call) -> list[Capture]:
    """Captures of the streams and events that the call names, or of the context that it waits for, else the one that forbids it."""
    named = []
    for role in call.entry_point.roles:
        if role.parameter and role.kind is Kind.STREAM and role.verb is not Verb.CREATES:
            stream = model.stream_of(call, call.entry_point.index[role.parameter])
            if stream is not None and stream.capture is not None:
                named.append(stream.capture)
        elif role.parameter and role.kind is Kind.EVENT:
            event = model.object_of(call, call.entry_point.index[role.parameter], Kind.EVENT)
            if isinstance(event, Event) and event.captured is not None and event.captured.ended_by is None:
                named.append(event.captured)
        elif role.kind is Kind.CONTEXT and role.verb is Verb.BLOCKS:
            context = model.current_context(call)
            named += [capture for capture in model.captures() if capture.origin.context is context][:1]
    forbidding = model.capture_forbidding(call)
    return named or ([] if forbidding is None else [forbidding])


def _ends(call: Call) -> bool:
    return any(role.verb is Verb.ENDS_CAPTURE for role in call.entry_point.roles)


def _stream(model: Model, call: Call) -> Stream | None:
    index = call.entry_point.index.get("hStream")
    return None if index is None else model.stream_of(call, index)
