"""What the driver answers to a call that breaks no rule, and the values it hands out that the model knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import Event, Stream

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.model import Model

SUCCESS = 0
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
DEINITIALIZED = 4
NOT_READY = 600

STICKY = frozenset({226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911})
"""Errors after which, says the documentation of CUresult, any further CUDA work returns the same error (710: the context
cannot be used any more)."""

BEFORE_INIT = frozenset(
    {
        "cuDriverGetVersion",
        "cuGetErrorName",
        "cuGetErrorString",
        "cuGetProcAddress",
        "cuInit",
        "cuModuleGetLoadingMode",
        "cuThreadExchangeStreamCaptureMode",
        "cuGetExportTable",
    }
)
"""Entry points that do not need cuInit."""

_WORK = frozenset(
    {
        Verb.CREATES,
        Verb.ALLOCATES,
        Verb.REGISTERS,
        Verb.LOADS,
        Verb.ON,
        Verb.BLOCKS,
        Verb.QUERIES,
        Verb.LAUNCHES,
        Verb.RETAINS,
    }
)
_ENDS = frozenset({Verb.DESTROYS, Verb.FREES, Verb.UNREGISTERS})
_HOST_SIDE = frozenset({Kind.GRAPH, Kind.GRAPH_NODE, Kind.LINKER, Kind.USER_OBJECT, Kind.CONTEXT})
"""Kinds that are made without the device."""


def of_legal_call(model: Model, call: Call) -> tuple[int, ...]:
    """Statuses of a call that breaks no rule, the likeliest first."""
    entry_point = call.entry_point
    if not entry_point.status:
        return (SUCCESS,)
    if model.shutdown_by:
        return (DEINITIALIZED,)
    if model.initialised_by is None and entry_point.name not in BEFORE_INIT:
        return (NOT_INITIALIZED,)
    error = model.sticky_error(call)
    if error is not None:
        verbs = {role.verb for role in entry_point.roles if role.kind not in _HOST_SIDE}
        if verbs & _WORK:
            return (error[1],)
        if verbs & _ENDS:
            return (error[1], SUCCESS)
    for role in entry_point.roles:
        if role.verb is Verb.QUERIES:
            return _of_query(model, call, role)
        if role.verb is Verb.ALLOCATES and _bytes(call, role) > model.memory:
            return (OUT_OF_MEMORY,)
    if entry_point.name == "cuEventElapsedTime":
        return _of_elapsed_time(model, call)
    return (SUCCESS,)


def outputs(model: Model, call: Call) -> dict[int, int]:
    """Values that the driver writes, where the model knows them, by parameter index."""
    known = _KNOWN.get(call.entry_point.name)
    return {} if known is None else known(model, call)


def _of_query(model: Model, call: Call, role: Role) -> tuple[int, ...]:
    found = model.object_of(call, call.entry_point.index[role.parameter], role.kind)
    if isinstance(found, Stream):
        return _readiness(model, model.pending(found))
    if isinstance(found, Event):
        return _readiness(model, _unfinished(model, found))
    return (SUCCESS, NOT_READY)


def _of_elapsed_time(model: Model, call: Call) -> tuple[int, ...]:
    events = (model.object_of(call, call.entry_point.index[name], Kind.EVENT) for name in ("hStart", "hEnd"))
    unfinished = [event for event in events if isinstance(event, Event) and _unfinished(model, event) is not None]
    return (SUCCESS, NOT_READY) if unfinished else (SUCCESS,)


def _unfinished(model: Model, event: Event) -> Call | None:
    """The record of the event if the host does not know that it is done."""
    record = event.recorded_by
    return None if record is None or model.finished(record) else record


def _readiness(model: Model, unfinished: Call | None) -> tuple[int, ...]:
    """Work that nobody has waited for may be done all the same, and work that nobody saw may be pending."""
    return (SUCCESS,) if unfinished is None and model.complete else (SUCCESS, NOT_READY)


def _bytes(call: Call, role: Role) -> int:
    index = call.entry_point.index.get(role.size)
    return 0 if index is None or index >= len(call.args) else call.args[index]


def _current(model: Model, call: Call) -> dict[int, int]:
    return {0: model.current_handle(call)}


def _current_device(model: Model, call: Call) -> dict[int, int]:
    device = model.device_of(call)
    return {} if device is None else {0: device}


def _primary(model: Model, call: Call) -> dict[int, int]:
    context = model.primaries.get(call.arg("dev"))
    return {} if context is None else {0: context.handle}


def _primary_state(model: Model, call: Call) -> dict[int, int]:
    context = model.primaries.get(call.arg("dev"))
    return {1: 0 if context is None else context.flags, 2: int(context is not None and context.alive)}


def _device_count(model: Model, call: Call) -> dict[int, int]:
    return {0: model.devices}


def _device(model: Model, call: Call) -> dict[int, int]:
    return {0: call.arg("ordinal")}


def _default_pool(model: Model, call: Call) -> dict[int, int]:
    pool = model.default_pools.get(call.arg("dev"))
    return {} if pool is None else {0: pool.handle}


def _stream_flags(model: Model, call: Call) -> dict[int, int]:
    stream = model.stream_of(call, 0)
    return {} if stream is None else {1: stream.flags}


def _stream_context(model: Model, call: Call) -> dict[int, int]:
    stream = model.stream_of(call, 0)
    return {} if stream is None or stream.context is None else {1: stream.context.handle}


def _capture_status(model: Model, call: Call) -> dict[int, int]:
    """CU_STREAM_CAPTURE_STATUS_NONE, _ACTIVE or _INVALIDATED."""
    stream = model.stream_of(call, 0)
    if stream is None:
        return {}
    return {1: 0 if stream.capture is None else 1 if stream.capture.invalidated_by is None else 2}


_KNOWN = {
    "cuCtxGetCurrent": _current,
    "cuCtxPopCurrent": _current,
    "cuCtxGetDevice": _current_device,
    "cuDevicePrimaryCtxRetain": _primary,
    "cuDevicePrimaryCtxGetState": _primary_state,
    "cuDeviceGetCount": _device_count,
    "cuDeviceGet": _device,
    "cuDeviceGetDefaultMemPool": _default_pool,
    "cuStreamGetFlags": _stream_flags,
    "cuStreamGetCtx": _stream_context,
    "cuStreamIsCapturing": _capture_status,
    "cuStreamGetCaptureInfo": _capture_status,
}
