"""Stream capture: begun, joined, broken, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_HANDLE, INVALID_VALUE
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.capturing import ABOUT_CAPTURE, implied, is_unsafe, of_named
from cuvet.model.objects import Capture, Event, Graph, Stream
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles

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
    stream = _stream(model, call)
    if stream is None:
        return
    mode = min(parameter(call, "mode"), RELAXED)
    capture = Capture(origin=stream, mode=mode, thread=call.thread, begun_by=call, streams=[stream])
    stream.capture = stream.begun = capture
    model.live_captures.append(capture)


@after_roles("cuStreamBeginCaptureToGraph")
def begin_to_graph(model: Model, call: Call, outcome: Outcome) -> None:
    _into(model, call, parameter(call, "hGraph"))


@after_roles("cuStreamGetCaptureInfo")
def tell_graph(model: Model, call: Call, outcome: Outcome) -> None:
    """What nodes are handed out belongs to the capture's graph, which the program need not ask for."""
    stream = _stream(model, call)
    if stream is not None and stream.capture is not None:
        handles = outcome.handed_out.get(call.entry_point.index["dependencies_out"], ())
        found = [model.find(Kind.GRAPH_NODE, handle) for handle, _ in handles]
        stream.capture.nodes += [node for node in found if node is not None and node.parent is None]
    _into(model, call, output(call, outcome, "graph_out"))


def _into(model: Model, call: Call, handle: int) -> None:
    """The capture of the call's stream adds its nodes to the graph of that handle; if it is 0, to the one that is known."""
    stream, graph = _stream(model, call), model.find(Kind.GRAPH, handle)
    if stream is not None and stream.capture is not None:
        graph = graph or stream.capture.graph
        if isinstance(graph, Graph):
            adds_to(model, stream.capture, graph)


@after_roles("cuStreamUpdateCaptureDependencies")
def rearrange(model: Model, call: Call, outcome: Outcome) -> None:
    stream = _stream(model, call)
    if stream is not None and stream.capture is not None:
        stream.capture.rearranged = True


def adds_to(model: Model, capture: Capture, graph: Graph) -> None:
    """``capture`` adds its nodes to ``graph``."""
    capture.graph, graph.captured = graph, True
    for node in capture.nodes:
        model.belong(node, graph)
    capture.nodes.clear()


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
    """A number that is no mode is taken without an error, and forbids as before."""
    data = call.inputs.get(0, b"")
    mode = int.from_bytes(data[:4], "little")
    if len(data) >= 4 and mode <= RELAXED:
        model.threads[call.thread].capture_mode = mode


def observe_failure(model: Model, call: Call, status: int) -> None:
    """A call that is refused on account of a capture breaks it, as does an end on a stream that only joined; other failed ends
    still end it, and the graph of a broken capture is destroyed, whoever made it. A captured stream's wait for
    no event breaks the capture too. A refused cuMemFreeAsync or cuGraphAddMemFreeNode leaves its mark on the graph, which is treated from
    then on as one that frees memory."""
    if (status in _BREAKS and not _spares(model, call)) or (
        status == INVALID_HANDLE and call.name == "cuStreamWaitEvent"
    ):
        for capture in _broken(model, call, status):
            if capture.invalidated_by is None:
                capture.invalidated_by = call
    elif status == INVALID_VALUE and call.name == "cuMemFreeAsync":
        stream = _stream(model, call)
        if stream is not None and stream.capture is not None:
            stream.capture.allocates = True
    elif status == INVALID_VALUE and call.name == "cuGraphAddMemFreeNode":
        graph = model.find(Kind.GRAPH, parameter(call, "hGraph"))
        if isinstance(graph, Graph) and graph.alive:
            graph.allocates = True
    elif status in (INVALIDATED, UNMATCHED, UNJOINED, WRONG_THREAD) and call.entry_point.does(Verb.ENDS_CAPTURE):
        stream = _stream(model, call)
        if stream is None or stream.capture is None:
            return
        if status != UNMATCHED:
            capture = stream.capture
            finish(model, call, capture)
            for made in (*capture.nodes, capture.graph):
                if made is not None:
                    model.end(made, call)
        elif stream.capture.invalidated_by is None:
            stream.capture.invalidated_by = call


def _spares(model: Model, call: Call) -> bool:
    """Whether a refused call leaves the capture whole: the record of an interprocess event, the time between captured events."""
    if call.name == "cuEventElapsedTime":
        return True
    role = next((role for role in call.entry_point.roles if role.verb is Verb.RECORDS), None)
    event = None if role is None else model.object_named(call, role)
    return isinstance(event, Event) and event.interprocess


def _broken(model: Model, call: Call, status: int) -> list[Capture]:
    """Captures that the legacy stream was refused for, else those that the call names, else those that forbid it."""
    if status == IMPLICIT:
        return [] if call.name in ABOUT_CAPTURE else [capture for capture, _ in implied(call, model)]
    named = of_named(call, model)
    return named if named or not is_unsafe(call.entry_point) else list(model.captures_forbidding(call))


def _stream(model: Model, call: Call) -> Stream | None:
    index = call.entry_point.index.get("hStream")
    return None if index is None else model.stream_of(call, index)
