"""Streams, and the host functions that they call."""

from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device import facts
from cuvet.device.driver.graph import captured_graph, enqueue, nodes_of
from cuvet.device.driver.graph_body import Node
from cuvet.device.invocation import Invocation, Refused, do_nothing, gives, require, write
from cuvet.device.protocol import Callback, Command, Op, Steps
from cuvet.model import Capture, Event, Stream

_CAPTURE_NONE, _CAPTURE_ACTIVE, _CAPTURE_INVALIDATED = 0, 1, 2


def _create(call: Invocation) -> None:
    handle = call.issue("phStream", Kind.STREAM)
    priority = call.signed("priority") if "priority" in call.entry_point.index else 0
    allowed = max(facts.FACTS.stream_priority_greatest, min(facts.FACTS.stream_priority_least, priority))
    call.set("stream flags", handle, call["Flags" if "Flags" in call.entry_point.index else "flags"])
    call.set("stream priority", handle, allowed)


cuStreamCreate = cuStreamCreateWithPriority = _create


def cuStreamDestroy(call: Invocation) -> None:
    """Work in progress goes on; its resources are released when it is done."""
    call.process.timeline.streams.pop(call["hStream"], None)


def cuStreamSynchronize(call: Invocation) -> Steps[None]:
    yield from call.wait(call.queue(call["hStream"]))


def cuStreamQuery(call: Invocation) -> Steps[None]:
    queue = call.queue(call["hStream"])
    functions = yield Command(Op.DRAIN, (queue, 0))
    running = call.process.timeline.stream_running(queue)
    require(not running and not functions.word, status.NOT_READY)


def cuStreamWaitEvent(call: Invocation) -> None:
    event, queue = call["hEvent"], call.queue(call["hStream"])
    found = call.model.find(Kind.EVENT, event)
    if isinstance(found, Event) and found.captured is not None:
        body = call.process.graphs[captured_graph(call, found.captured)]
        body.tips[queue] = body.tips.get(queue, []) + body.events.get(event, [])
        return
    work = call.process.timeline.events.get(event)
    if work is not None and work.running:
        call.process.timeline.streams[queue] = work


cuStreamGetFlags = gives(flags=lambda call: call.get("stream flags", call["hStream"]))
cuStreamGetPriority = gives(priority=lambda call: call.get("stream priority", call["hStream"]))


def _stream(call: Invocation) -> Stream | None:
    return call.model.stream_of(call.call, call.entry_point.index["hStream"])


def cuStreamGetCtx(call: Invocation) -> None:
    stream = _stream(call)
    context = stream.context if stream else call.model.current_context(call.call)
    call.give("pCtx", context.handle if context else 0)
    if "pGreenCtx" in call.entry_point.index:
        call.give("pGreenCtx", 0)


def cuStreamGetDevice(call: Invocation) -> None:
    stream = _stream(call)
    context = stream.context if stream else None
    call.give("device", (context.device or 0) if context else call.current_device())


def cuStreamGetId(call: Invocation) -> None:
    stream = _stream(call)
    call.give("streamId", stream.number & 0xFFFFFFFFFFFFFFFF if stream else call["hStream"])


cuStreamAttachMemAsync = cuStreamCopyAttributes = cuStreamSetAttribute = do_nothing
cuStreamBeginCapture = cuStreamWaitValue32 = cuStreamWaitValue64 = do_nothing


def cuStreamGetAttribute(call: Invocation) -> Steps[None]:
    yield from write(call["value"], bytes(catalog().structs["CUstreamAttrValue"].bytes))


def cuLaunchHostFunc(call: Invocation) -> Steps[None]:
    require(call["fn"])
    return enqueue(call, Node("CU_GRAPH_NODE_TYPE_HOST", host=(call["fn"], call["userData"])))


def cuStreamAddCallback(call: Invocation) -> Steps[None]:
    require(call["callback"])
    stream = call["hStream"]
    callback = (Callback.STREAM_CALLBACK, call["callback"], call["userData"])
    yield Command(Op.CALL_HOST, (call.queue(stream), *callback, stream, status.SUCCESS))


def cuStreamBeginCaptureToGraph(call: Invocation) -> None:
    body = call.known(call.process.graphs, "hGraph", status.INVALID_VALUE)
    queue = call.queue(call["hStream"])
    call.process.capture_into[queue] = call["hGraph"]
    body.tips[queue] = nodes_of(call, "dependencies", "numDependencies")


def cuStreamEndCapture(call: Invocation) -> None:
    capture = _capture(call)
    if capture is None:
        raise Refused(status.INVALID_VALUE)
    handle = captured_graph(call, capture)
    del call.process.captures[capture]
    body = call.process.graphs[handle]
    body.tips, body.events = {}, {}
    call.give("phGraph", handle)


def _capture(call: Invocation) -> Capture | None:
    stream = _stream(call)
    return stream.capture if stream else None


def _capture_status(call: Invocation) -> int:
    capture = _capture(call)
    if capture is None:
        return _CAPTURE_NONE
    return _CAPTURE_INVALIDATED if capture.invalidated_by else _CAPTURE_ACTIVE


def cuStreamIsCapturing(call: Invocation) -> None:
    require(call["captureStatus"])
    call.give("captureStatus", _capture_status(call))


def cuStreamGetCaptureInfo(call: Invocation) -> Steps[None]:
    state = _capture_status(call)
    call.give("captureStatus_out", state)
    capture = _capture(call)
    if capture is None or state != _CAPTURE_ACTIVE:
        return
    graph = captured_graph(call, capture)
    tips = call.process.graphs[graph].tips.get(call.queue(call["hStream"]), [])
    call.give("id_out", capture.begun_by.number)
    call.give("graph_out", graph)
    call.give("edgeData_out", (yield from call.constant(bytes(8 * len(tips)))) if tips else 0)
    call.give("numDependencies_out", len(tips))
    if call["dependencies_out"]:
        handles = [tip.handle for tip in tips]
        array = b"".join(handle.to_bytes(8, "little") for handle in handles)
        call.give("dependencies_out", (yield from call.constant(array)))
        call.hand_out("dependencies_out", handles)


def cuStreamUpdateCaptureDependencies(call: Invocation) -> None:
    capture = _capture(call)
    if capture is None:
        raise Refused(status.INVALID_VALUE)
    named = nodes_of(call, "dependencies", "numDependencies")
    body, queue = call.process.graphs[captured_graph(call, capture)], call.queue(call["hStream"])
    body.tips[queue] = named if call["flags"] & 1 else body.tips.get(queue, []) + named


def _write_value(call: Invocation, size: int) -> Steps[None]:
    address, value = call["addr"], call["value"]

    def run() -> Steps[None]:
        yield Command(Op.SET, (address, value, size, size, 1, 0))

    return enqueue(call, Node("CU_GRAPH_NODE_TYPE_BATCH_MEM_OP", run), call.queue(call["stream"]))


cuStreamWriteValue32 = partial(_write_value, size=4)
cuStreamWriteValue64 = partial(_write_value, size=8)
