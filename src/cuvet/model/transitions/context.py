"""Contexts: made and destroyed, primary contexts retained, released and reset, and which is current on a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_CONTEXT, NOT_PERMITTED, SUCCESS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import Allocation, Context, Object, Stream
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import for_role, instead_of_roles, returned_by, written_by

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.view import ModelView


@instead_of_roles("cuCtxCreate", "cuGLCtxCreate", "cuVDPAUCtxCreate")
def create(model: Model, call: Call, outcome: Outcome) -> None:
    """The new context is pushed on the thread's stack."""
    name = call.entry_point.parameters[0].name
    handle = output(call, outcome, name)
    if not handle:
        return
    context = model.create(Context, Kind.CONTEXT, handle, call, outcome, name, None)
    context.context = None
    context.device = parameter(call, "dev", parameter(call, "device"))
    context.flags = parameter(call, "flags", parameter(call, "Flags"))
    model.threads[call.thread].push(context)


@for_role(Verb.DESTROYS, Kind.CONTEXT)
def destroy(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    context = model.object_of(call, call.entry_point.index[role.parameter], Kind.CONTEXT)
    if isinstance(context, Context):
        _destroy(model, call, context)


def _destroy(model: Model, call: Call, context: Context) -> None:
    """A context that is current on the calling thread is popped; on other threads it stays current."""
    thread = model.threads[call.thread]
    if thread.current is context:
        thread.pop()
    model.order.finish_context(context)
    model.end(context, call)


@for_role(Verb.RETURNS, Kind.CONTEXT)
def hand_out(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    handle = output(call, outcome, role.parameter)
    if handle and model.context_at(handle) is None:
        model.adopt_context(handle)


@instead_of_roles("cuCtxAttach")
def attach(model: Model, call: Call, outcome: Outcome) -> None:
    context = model.context_at(output(call, outcome, "pctx"))
    if context is not None:
        context.references += 1


@instead_of_roles("cuCtxDetach")
def detach(model: Model, call: Call, outcome: Outcome) -> None:
    """The context ends with the last of its users."""
    context = model.context_at(parameter(call, "ctx"))
    if context is None:
        return
    context.references -= 1
    if context.references == 0:
        _destroy(model, call, context)


@instead_of_roles("cuCtxFromGreenCtx")
def from_green_context(model: Model, call: Call, outcome: Outcome) -> None:
    handle = output(call, outcome, "pContext")
    if not handle or model.context_at(handle) is not None:
        return
    green = model.object_of(call, call.entry_point.index["hCtx"], Kind.GREEN_CONTEXT)
    context = model.create(Context, Kind.CONTEXT, handle, call, outcome, "pContext", green)
    context.context, context.of_green = None, True
    context.device = None if green is None else green.device


@instead_of_roles("cuGreenCtxCreate")
def create_green_context(model: Model, call: Call, outcome: Outcome) -> None:
    """It retains the primary context of its device until it is destroyed."""
    handle = output(call, outcome, "phCtx")
    if not handle:
        return
    green = model.create(Object, Kind.GREEN_CONTEXT, handle, call, outcome, "phCtx", None)
    green.context, green.device = None, parameter(call, "dev")


@for_role(Verb.DESTROYS, Kind.GREEN_CONTEXT)
def destroy_green_context(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    green = model.object_of(call, call.entry_point.index[role.parameter], Kind.GREEN_CONTEXT)
    if green is None or not green.alive:
        return
    model.end(green, call)
    primary = None if green.device is None else model.primaries.get(green.device)
    if primary is not None:
        _end_if_unretained(model, call, primary)


@instead_of_roles("cuGreenCtxStreamCreate")
def create_stream_of_green_context(model: Model, call: Call, outcome: Outcome) -> None:
    """It works in the primary context of the green context's device."""
    handle = output(call, outcome, "phStream")
    if not handle:
        return
    green = model.object_of(call, call.entry_point.index["greenCtx"], Kind.GREEN_CONTEXT)
    stream = model.create(Stream, Kind.STREAM, handle, call, outcome, "phStream", green)
    stream.device = None if green is None else green.device
    stream.context = None if stream.device is None else model.primaries.get(stream.device)
    stream.flags = parameter(call, "flags")


@instead_of_roles("cuDevicePrimaryCtxRetain")
def retain(model: Model, call: Call, outcome: Outcome) -> None:
    """The handle of a device's primary context is always the same; after a reset it is a new object."""
    handle = output(call, outcome, "pctx")
    if not handle:
        return
    device = parameter(call, "dev")
    context = model.primaries.get(device) or model.context_at(handle)
    retained = 0 if context is None else context.retained
    if context is None or not context.alive or context.handle != handle:
        context = model.create(Context, Kind.CONTEXT, handle, call, outcome, "pctx", None)
        context.context = None
        _take_from_green_contexts(model, context, device)
    model.primaries[device] = context
    context.primary, context.device, context.retained = True, device, retained + 1


def _take_from_green_contexts(model: Model, primary: Context, device: int) -> None:
    """What was made with green contexts before the primary context was seen is the primary context's all the same."""
    for stream in model.objects(Kind.STREAM):
        if isinstance(stream, Stream) and stream.context is None and stream.device == device:
            stream.context = primary
    for context in model.objects(Kind.CONTEXT):
        if not isinstance(context, Context) or not context.of_green or context.device != device:
            continue
        model.table.make_children(context)
        for child in tuple(context.children):
            child.parent = child.context = primary
            primary.children[child] = None
        context.children.clear()


@instead_of_roles("cuDevicePrimaryCtxRelease")
def release(model: Model, call: Call, outcome: Outcome) -> None:
    context = model.primaries.get(parameter(call, "dev"))
    if context is not None:
        context.retained = max(0, context.retained - 1)
        _end_if_unretained(model, call, context)


def _end_if_unretained(model: Model, call: Call, primary: Context) -> None:
    """The last release resets the primary context; green contexts retain it, too."""
    device = primary.device
    green = any(green.device == device for green in model.objects(Kind.GREEN_CONTEXT))
    if device is not None and not primary.retained and not green:
        _reset(model, call, device, primary)


@instead_of_roles("cuDevicePrimaryCtxReset")
def reset(model: Model, call: Call, outcome: Outcome) -> None:
    """Retains are kept: the primary context comes back with the next retain or use."""
    device = parameter(call, "dev")
    _reset(model, call, device, model.primaries.get(device))


@instead_of_roles("cuDevicePrimaryCtxSetFlags")
def set_primary_flags(model: Model, call: Call, outcome: Outcome) -> None:
    context = model.primaries.get(parameter(call, "dev"))
    if context is not None:
        context.flags = parameter(call, "flags")


@instead_of_roles("cuCtxEnablePeerAccess")
def enable_peer_access(model: Model, call: Call, outcome: Outcome) -> None:
    current, peer = model.current_context(call), model.context_at(parameter(call, "peerContext"))
    if current is not None and peer is not None:
        current.peers = {other: made for other, made in current.peers.items() if other.alive}
        current.peers[peer] = call


@instead_of_roles("cuCtxDisablePeerAccess")
def disable_peer_access(model: Model, call: Call, outcome: Outcome) -> None:
    current, peer = model.current_context(call), model.context_at(parameter(call, "peerContext"))
    if current is not None and peer is not None:
        current.peers.pop(peer, None)


@for_role(Verb.SETS_CURRENT)
def set_current(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    handle = parameter(call, role.parameter)
    model.threads[call.thread].set_current(_named(model, call, role) if handle else None)


@for_role(Verb.PUSHES)
def push(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    if parameter(call, role.parameter):
        model.threads[call.thread].push(_named(model, call, role))


@for_role(Verb.POPS)
def pop(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    model.threads[call.thread].pop()


def _named(model: Model, call: Call, role: Role) -> Context:
    index = call.entry_point.index[role.parameter]
    found = model.object_of(call, index, Kind.CONTEXT)
    return found if isinstance(found, Context) else model.adopt_context(call.args[index])


def _reset(model: Model, call: Call, device: int, context: Context | None) -> None:
    """The device's primary context ends with all that belongs to it, and with the device's stream-ordered allocations."""
    model.resets[device] = call
    if context is None:
        return
    model.order.finish_context(context)
    if not context.alive:
        return
    model.end(context, call)
    for allocation in model.objects(Kind.MEMORY):
        if isinstance(allocation, Allocation) and allocation.context is context:
            model.end(allocation, call, context)


@returned_by("cuCtxPopCurrent")
def of_pop(model: ModelView, call: Call) -> tuple[int, ...]:
    """Programs pop until there is nothing left: it is no mistake."""
    return (SUCCESS,) if model.current_handle(call) or not model.complete else (INVALID_CONTEXT,)


@returned_by("cuDevicePrimaryCtxReset")
def of_reset(model: ModelView, call: Call) -> tuple[int, ...]:
    """Green contexts hold the primary context of their device."""
    greens = (green for green in model.objects(Kind.GREEN_CONTEXT) if green.device == call.arg("dev"))
    return (SUCCESS,) if next(greens, None) is None else (NOT_PERMITTED,)


@written_by("cuCtxGetCurrent", "cuCtxPopCurrent")
def current(model: ModelView, call: Call) -> dict[int, int]:
    return {0: model.current_handle(call)}


@written_by("cuCtxGetDevice")
def current_device(model: ModelView, call: Call) -> dict[int, int]:
    device = model.device_of(call)
    return {} if device is None else {0: device}


@written_by("cuDevicePrimaryCtxRetain")
def primary(model: ModelView, call: Call) -> dict[int, int]:
    context = model.primaries.get(call.arg("dev"))
    return {} if context is None else {0: context.handle}


@written_by("cuDevicePrimaryCtxGetState")
def primary_state(model: ModelView, call: Call) -> dict[int, int]:
    context = model.primaries.get(call.arg("dev"))
    return {1: 0 if context is None else context.flags, 2: int(context is not None and context.alive)}
