"""Streams: what they are, whether they capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind
from cuvet.model.answers.registry import written_by

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.view import ModelView


@written_by("cuStreamGetFlags")
def stream_flags(model: ModelView, call: Call) -> dict[int, int]:
    stream = model.stream_of(call, 0)
    green = stream is not None and stream.builtin and model.green_context(call) is not None
    return {} if stream is None or green else {1: stream.flags}


@written_by("cuStreamGetCtx")
def stream_context(model: ModelView, call: Call) -> dict[int, int]:
    stream = model.stream_of(call, 0)
    known = stream is not None and (stream.parent is None or stream.parent.kind is not Kind.GREEN_CONTEXT)
    if stream is not None and stream.builtin and model.green_context(call) is not None:
        return {}
    return {1: stream.context.handle} if stream is not None and known and stream.context is not None else {}


@written_by("cuStreamEndCapture")
def captured_graph(model: ModelView, call: Call) -> dict[int, int]:
    """The one that the capture was begun into, or that was told while it went on."""
    stream = model.stream_of(call, 0)
    graph = None if stream is None or stream.capture is None else stream.capture.graph
    return {} if graph is None else {1: graph.handle}


@written_by("cuStreamIsCapturing", "cuStreamGetCaptureInfo")
def capture_status(model: ModelView, call: Call) -> dict[int, int]:
    """CU_STREAM_CAPTURE_STATUS_NONE, _ACTIVE or _INVALIDATED."""
    stream = model.stream_of(call, 0)
    if stream is None:
        return {}
    return {1: 0 if stream.capture is None else 1 if stream.capture.invalidated_by is None else 2}
