"""Events."""

import struct

from cuvet.catalog import Kind
from cuvet.catalog import results as status
from cuvet.device.driver.graph import captured, captured_graph, enqueue
from cuvet.device.driver.graph_body import Node
from cuvet.device.invocation import Invocation, do_nothing, require
from cuvet.device.protocol import Steps
from cuvet.model import Event

_MILLISECONDS_PER_NS = 1e-6


cuEventCreate = do_nothing


def cuEventDestroy(call: Invocation) -> None:
    call.process.timeline.events.pop(call["hEvent"], None)


def _record(call: Invocation) -> Steps[None]:
    yield from record(call, call["hEvent"], call.queue(call["hStream"]))


def record(call: Invocation, event: int, queue: int) -> Steps[None]:
    """The event stands for what the queue of the call's stream was given."""
    timeline = call.process.timeline
    capture = captured(call)
    if capture is not None:
        body = call.process.graphs[captured_graph(call, capture)]
        body.events[event] = body.tips.get(queue, [])
    else:
        yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_EVENT_RECORD", lambda: timeline.record(event, queue)), queue)


cuEventRecord = cuEventRecordWithFlags = _record


def cuEventQuery(call: Invocation) -> None:
    require(not call.process.timeline.event_running(call["hEvent"]), status.NOT_READY)


def cuEventSynchronize(call: Invocation) -> Steps[None]:
    yield from call.wait(call.process.timeline.recorded_on.get(call["hEvent"], 0))


def cuEventElapsedTime(call: Invocation) -> None:
    running = call.process.timeline.event_running
    require(not running(call["hStart"]) and not running(call["hEnd"]), status.NOT_READY)
    start, end = (call.model.find(Kind.EVENT, call[name]) for name in ("hStart", "hEnd"))
    elapsed = _recorded_ns(end) - _recorded_ns(start)
    call.give("pMilliseconds", struct.unpack("<I", struct.pack("<f", elapsed * _MILLISECONDS_PER_NS))[0])


def _recorded_ns(event: object) -> int:
    recorded = event.recorded_by if isinstance(event, Event) else None
    return recorded.time_ns if recorded else 0
