"""Events."""

import struct

from cuvet.catalog import Kind
from cuvet.device import status
from cuvet.device.driver.graph import captured, captured_graph, enqueue
from cuvet.device.driver.graph_body import Node
from cuvet.device.invocation import Invocation, Refused
from cuvet.device.protocol import Steps
from cuvet.model import Event

_MILLISECONDS_PER_NS = 1e-6


def cuEventCreate(call: Invocation) -> None:
    call.issue("phEvent", Kind.EVENT)


def cuEventDestroy(call: Invocation) -> None:
    call.process.timeline.events.pop(call["hEvent"], None)


def _record(call: Invocation) -> Steps[int]:
    event, queue = call["hEvent"], call.queue(call["hStream"])
    capture = captured(call)
    if capture is not None:
        body = call.process.graphs[captured_graph(call, capture)]
        body.events[event] = body.tips.get(queue, [])
        return status.SUCCESS

    def run() -> Steps[int]:
        call.process.timeline.record(event, queue)
        return status.SUCCESS
        yield

    return (yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_EVENT_RECORD", run)))


cuEventRecord = cuEventRecordWithFlags = _record


def cuEventQuery(call: Invocation) -> int:
    return status.NOT_READY if call.process.timeline.event_running(call["hEvent"]) else status.SUCCESS


def cuEventSynchronize(call: Invocation) -> Steps[None]:
    yield from call.wait(call.process.timeline.recorded_on.get(call["hEvent"], 0))


def cuEventElapsedTime(call: Invocation) -> None:
    timeline = call.process.timeline
    start, end = (call.model.find(Kind.EVENT, call[name]) for name in ("hStart", "hEnd"))
    if timeline.event_running(call["hStart"]) or timeline.event_running(call["hEnd"]):
        raise Refused(status.NOT_READY)
    elapsed = _recorded_ns(end) - _recorded_ns(start)
    bits = struct.unpack("<I", struct.pack("<f", elapsed * _MILLISECONDS_PER_NS))[0]
    call.give("pMilliseconds", bits)


def _recorded_ns(event: object) -> int:
    recorded = event.recorded_by if isinstance(event, Event) else None
    return recorded.time_ns if recorded else 0
