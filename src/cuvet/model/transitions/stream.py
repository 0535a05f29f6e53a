"""Work on streams, and the host's waits for it; what streams are, and whether they capture."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.accesses import COPIES, WRITES
from cuvet.model.code import does_nothing
from cuvet.model.naming import words_named
from cuvet.model.objects import Allocation, Capture, Event, Function, Stream
from cuvet.model.order import is_work
from cuvet.model.touches import Touch, Touches
from cuvet.model.touching import SERIALIZED, touched, touches_in_capture, touches_memory
from cuvet.model.transitions import capture
from cuvet.model.transitions.object import parameter
from cuvet.model.transitions.registry import after_roles, for_role, written_by

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.order import Clock
    from cuvet.model.view import ModelView

_COPIES = "HtoD DtoH DtoD HtoA AtoH DtoA AtoD AtoA Peer 2D 2DUnaligned 3D 3DPeer".split()
WITHOUT_STREAM = (
    "cuMemcpy",
    *(f"cuMemcpy{name}" for name in _COPIES),
    *(f"cuMemset{shape}{bits}" for shape in ("D", "D2D") for bits in (8, 16, 32)),
)
"""Copies and sets that name no stream."""


@cache
def manages_memory(entry_point: EntryPoint) -> bool:
    """Whether calls of the entry point allocate or free memory."""
    return entry_point.does(Verb.ALLOCATES, Verb.FREES, to=(Kind.MEMORY,))


@for_role(Verb.ON)
def enqueue(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """The call is the stream's next work; in a capture it is none yet. A copy from the device to pageable memory "might be synchronous
    with respect to host" (CUDA Driver API, API synchronization behavior), and so it was whenever it was measured."""
    stream = model.stream_on(call)
    if stream is not None:
        enqueue_on(model, call, stream)


def enqueue_on(model: Model, call: Call, stream: Stream) -> None:
    """``call`` gives ``stream`` its next work."""
    if stream.capture is not None:
        if is_work(call.entry_point):
            capture.enqueue(stream.capture, stream)
            touch_in_capture(model, call, stream, stream.capture)
        stream.capture.allocates |= manages_memory(call.entry_point)
        return
    touch_memory(model, call, stream)
    model.order.enqueue(call, stream)
    if call.name in COPIES and _end(model, call, _written(call.entry_point)) is End.PAGEABLE:
        model.order.perhaps_finish(model.order.record(stream))
    if is_work(call.entry_point):
        stream.last_work = call
    for allocation in model.pointed_at(call):
        use_memory(model, call, stream, allocation)


def touch_memory(model: Model, call: Call, stream: Stream) -> None:
    """The work that ``stream`` is given now is remembered with what it touches."""
    if model.touches is not None and touches_memory(call.entry_point):
        touches = touched(call, model)
        model.touches.add(call, stream, touches)
        for touch in touches:
            if isinstance(touch.memory, Allocation):
                use_memory(model, call, stream, touch.memory)
    if model.touches is not None and call.name in WRITES:
        model.touches.tell(call)


def touch_in_capture(
    model: Model, call: Call, stream: Stream, captured: Capture, touches: Sequence[Touch] | None = None
) -> None:
    """The node that was captured on ``stream`` is remembered with what it touches; ``touches``: if the call does not tell that yet."""
    if model.touches is None:
        return
    if touches is None:
        touches = touched(call, model) if touches_in_capture(call.entry_point) else ()
    captured.touches = captured.touches or Touches()
    captured.touches.add(call, stream, touches, (stream.number, captured.works[stream]))


def forget_touches(model: Model) -> None:
    """The host has waited for something."""
    if model.touches is not None:
        model.touches.forget_done(model.order)


@for_role(Verb.CALLS_BACK)
def call_back(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """A host function can wait for anything."""
    doubt(model, call, outcome)


@after_roles(
    "cuStreamWaitValue32",
    "cuStreamWaitValue64",
    "cuStreamBatchMemOp",
    "cuWaitExternalSemaphoresAsync",
    "cuLaunchHostFunc",
    "cuStreamAddCallback",
)
def doubt(model: Model, call: Call, outcome: Outcome) -> None:
    """The stream waits for something that no call shows, or lets the host know how far it is."""
    stream = model.stream_on(call)
    if stream is not None and stream.capture is not None:
        stream.capture.waits = True
    elif stream is not None:
        model.order.doubt(stream)
        if stream.timeline is not None:
            model.order.perhaps_finish(stream.timeline.clock)


@after_roles("cuStreamWriteValue32", "cuStreamWriteValue64")
def tell(model: Model, call: Call, outcome: Outcome) -> None:
    """Whoever reads the value, the host or a kernel, knows that what comes before the write is done."""
    stream = model.stream_on(call)
    if stream is not None and stream.capture is None and stream.timeline is not None and call.position is not None:
        number, count = call.position
        model.order.perhaps_finish({**stream.timeline.clock, number: count - 1})


@for_role(Verb.READS, Kind.MEMORY)
@for_role(Verb.WRITES, Kind.MEMORY)
def touch(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    stream = model.stream_on(call)
    if stream is not None and stream.capture is None:
        use_named(model, call, stream, role)


def use_named(model: Model, call: Call, stream: Stream, role: Role) -> None:
    """The role of a call that reads or writes memory of the device."""
    for address in words_named(call, role):
        allocation = model.allocations.living_at(address)
        if allocation is not None:
            use_memory(model, call, stream, allocation)


def use_memory(model: Model, call: Call, stream: Stream, allocation: Allocation) -> None:
    """Work on ``stream`` uses this memory; which work did so last is kept for stream-ordered memory."""
    if allocation.variant != "stream-ordered" or not allocation.alive:
        return
    if stream not in allocation.uses:
        allocation.uses = {other: use for other, use in allocation.uses.items() if not model.finished(use)}
    allocation.uses[stream] = call


@after_roles(*WITHOUT_STREAM)
def copy(model: Model, call: Call, outcome: Outcome) -> None:
    """Work on the default stream. When the call returns it is done if it ends in the host's memory, or comes from pinned memory. Of a copy
    from pageable memory what came before is done, but "the DMA to final destination may not have completed"; for sets, and copies from
    device to device, the host does not wait at all (CUDA Driver API, API synchronization behavior). Of managed memory it waits. A copy
    between contexts is between all that came before and all that comes later (``SERIALIZED``)."""
    stream = model.default_stream(call)
    if stream is None:
        model.order.finish_stream(None)
        return
    entry_point = call.entry_point
    source, target = _end(model, call, _read(entry_point)), _end(model, call, _written(entry_point))
    if source in _OF_HOST:
        model.order.finish_stream(stream)
    touch_memory(model, call, stream)
    model.order.enqueue(call, stream)
    if call.name in SERIALIZED:
        model.order.perhaps_finish(None)
    for role in _using(entry_point):
        use_named(model, call, stream, role)
    if source is End.PINNED or target in _OF_HOST:
        model.order.finish_stream(stream)


@cache
def _read(entry_point: EntryPoint) -> tuple[Role, ...]:
    """What its calls read."""
    return tuple(role for role in entry_point.roles if role.verb is Verb.READS)


@cache
def _written(entry_point: EntryPoint) -> tuple[Role, ...]:
    """What its calls write."""
    return tuple(role for role in entry_point.roles if role.verb is Verb.WRITES)


@cache
def _using(entry_point: EntryPoint) -> tuple[Role, ...]:
    """What its calls read and write that may be memory of the device."""
    roles = (role for role in entry_point.roles if role.kind is not Kind.HOST_MEMORY)
    return tuple(role for role in roles if role.verb in (Verb.READS, Verb.WRITES))


class End(Enum):
    """Where a copy comes from or goes to."""

    DEVICE = auto()
    """Memory of a device, or an array, or nothing: a set reads nothing."""
    PINNED = auto()
    MANAGED = auto()
    PAGEABLE = auto()
    """Or not known."""


_OF_HOST = (End.PINNED, End.MANAGED, End.PAGEABLE)


def _end(model: Model, call: Call, roles: tuple[Role, ...]) -> End:
    """What the call reads or writes, which the roles say."""
    for role in roles:
        for address in words_named(call, role):
            if model.host_memory.living_at(address) is not None:
                return End.PINNED
            memory = model.allocations.living_at(address)
            if memory is None:
                return End.PAGEABLE
            return End.MANAGED if memory.variant == "managed" else End.DEVICE
    return End.DEVICE


@after_roles("cuLaunch", "cuLaunchGrid")
def launch(model: Model, call: Call, outcome: Outcome) -> None:
    stream = model.default_stream(call)
    if stream is not None:
        model.order.enqueue(call, stream)
        stream.last_work = call


@after_roles("cuLaunchCooperativeKernelMultiDevice")
def launch_on_many(model: Model, call: Call, outcome: Outcome) -> None:
    """The streams that are launched on, which wait for each other, are not known."""
    for stream in model.streams():
        model.order.doubt(stream)


@for_role(Verb.LAUNCHES, Kind.FUNCTION, Kind.KERNEL)
def launch_kernel(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    context = model.current_context(call)
    function = model.launched(call)
    if context is not None and not context.launched:
        context.launched = not does_nothing(function)
    if model.kernels is not None and isinstance(function, Function):
        use = model.kernels.use(function)
        if use is not None and use.waits:
            doubt(model, call, outcome)


@for_role(Verb.BLOCKS)
def block(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """The host waits for the current context or a given one."""
    context = None
    if role.parameter and parameter(call, role.parameter):
        context = model.context_at(parameter(call, role.parameter))
    context = context or model.current_context(call)
    model.order.finish_context(context)
    forget_touches(model)
    if context is not None:
        context.launched = False


@for_role(Verb.BLOCKS, Kind.STREAM)
@for_role(Verb.QUERIES, Kind.STREAM)
def finish(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """The call succeeded, so all the stream's work is done."""
    if outcome.status == 0:
        model.order.finish_stream(model.stream_of(call, call.entry_point.index[role.parameter]))
        forget_touches(model)


@for_role(Verb.BLOCKS, Kind.EVENT)
@for_role(Verb.QUERIES, Kind.EVENT)
def finish_event(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """The call succeeded, so the work before the event's record is done."""
    if outcome.status == 0:
        _finish_events(model, call, role.parameter)


@after_roles("cuEventElapsedTime")
def finish_both_events(model: Model, call: Call, outcome: Outcome) -> None:
    """It returns CUDA_ERROR_NOT_READY until both are done (CUDA Driver API, cuEventElapsedTime)."""
    if outcome.status == 0:
        _finish_events(model, call, "hStart", "hEnd")


def _finish_events(model: Model, call: Call, *parameters: str) -> None:
    """The host knows that these are done. There is no work before the record of one that was never recorded."""
    for name in parameters:
        event = model.object_of(call, call.entry_point.index[name], Kind.EVENT)
        clock: Clock | None = None
        if isinstance(event, Event) and not event.external:
            never = model.touches is not None and event.recorded_by is None and event.captured is None
            clock = {} if never else event.clock
        model.order.finish(clock)
    forget_touches(model)


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
