"""Which calls the driver refuses on account of a stream capture, and which captures a refused call breaks.

Found on recordings of random programs (NVIDIA H200, driver 580.159.04); CUDA's documentation names none of these entry points but
the potentially unsafe cudaEventQuery (cuThreadExchangeStreamCaptureMode), cuStreamAddCallback and cuStreamAttachMemAsync.
"""

from __future__ import annotations

from functools import cache

from cuvet.catalog import EntryPoint
from cuvet.catalog.kinds import ALLOCATIONS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.call import Call
from cuvet.model.objects import Capture, Context, Event, Stream
from cuvet.model.view import ModelView

_UNSAFE_ON_STREAM = frozenset({(Kind.MEMORY, Verb.ALLOCATES), (Kind.MEMORY, Verb.FREES)})
_UNSAFE = frozenset(
    {
        *((kind, verb) for kind in ALLOCATIONS for verb in (Verb.ALLOCATES, Verb.FREES)),
        *((Kind.HOST_MEMORY, verb) for verb in (Verb.REGISTERS, Verb.UNREGISTERS)),
        *((kind, verb) for kind in (Kind.STREAM, Kind.EVENT, Kind.CONTEXT) for verb in (Verb.BLOCKS, Verb.QUERIES)),
        *((kind, verb) for kind in (Kind.ARRAY, Kind.MIPMAPPED_ARRAY) for verb in (Verb.CREATES, Verb.DESTROYS)),
        *(
            (kind, verb)
            for kind in (Kind.TEXTURE_OBJECT, Kind.SURFACE_OBJECT)
            for verb in (Verb.CREATES, Verb.DESTROYS)
        ),
        *((kind, verb) for kind in (Kind.MEMORY_POOL, Kind.GRAPH_EXEC) for verb in (Verb.CREATES, Verb.DESTROYS)),
        (Kind.MEMORY_POOL, Verb.USES),
        (Kind.MODULE, Verb.DESTROYS),
        (Kind.CULIBRARY, Verb.DESTROYS),
    }
)
_UNSAFE_BY_NAME = frozenset(
    """
    cuCtxDisablePeerAccess cuCtxSetCacheConfig cuCtxSetLimit cuCtxSetSharedMemConfig cuMemAdvise cuMemPoolExportPointer
    cuPointerSetAttribute cuProfilerStart cuProfilerStop cuStreamAttachMemAsync
    """.split()
)

NOT_CAPTURABLE = frozenset(
    """
    cuGraphLaunch cuGraphUpload cuMemPrefetchAsync cuMemcpyPeerAsync cuStreamAddCallback cuStreamAttachMemAsync
    cuStreamGetDevice cuStreamGetFlags cuStreamGetId
    """.split()
)
"""Refused on a stream that is capturing, also when the capture is broken already."""

ABOUT_CAPTURE = frozenset({"cuStreamIsCapturing", "cuStreamGetCaptureInfo"})
"""Answered on a stream whose capture is broken. On the legacy stream they are refused as all calls are, and break nothing."""

OF_ALL_STREAMS = frozenset({"cuCtxRecordEvent", "cuCtxWaitEvent"})

_NAMES_NONE = frozenset({Verb.CREATES, Verb.RETURNS, Verb.DESTROYS})


@cache
def is_unsafe(entry_point: EntryPoint) -> bool:
    """Whether its calls are potentially unsafe, so that a capture can forbid them to a thread. Those that enqueue work on a stream
    are only if that stream takes part in no capture."""
    unsafe = _UNSAFE_ON_STREAM if entry_point.does(Verb.ON) else _UNSAFE
    return entry_point.name in _UNSAFE_BY_NAME or any(
        (role.kind, role.verb) in unsafe and not role.field for role in entry_point.roles
    )


@cache
def is_synchronous_copy(entry_point: EntryPoint) -> bool:
    """Whether its calls copy or set memory and name no stream: they are work on the default stream."""
    return entry_point.name.startswith(("cuMemcpy", "cuMemset")) and not entry_point.does(Verb.ON)


@cache
def stream_roles(entry_point: EntryPoint) -> tuple[Role, ...]:
    """Its parameters that name a stream which is there already, other than to destroy it."""
    return tuple(
        role
        for role in entry_point.roles
        if role.kind is Kind.STREAM and role.verb not in _NAMES_NONE and role.parameter and not role.field
    )


def names_stream(entry_point: EntryPoint) -> bool:
    """Whether its calls name a stream that is there already, other than to destroy it."""
    return bool(stream_roles(entry_point)) or entry_point.does(Verb.ON)


def streams_named(call: Call, model: ModelView) -> list[Stream]:
    """The streams that the call names, default ones included."""
    index = call.entry_point.index
    found = [model.stream_of(call, index[role.parameter]) for role in stream_roles(call.entry_point)]
    return [stream for stream in (found or [model.stream_on(call)]) if stream is not None]


def implied(call: Call, model: ModelView) -> list[tuple[Capture, Stream]]:
    """If the call uses the legacy default stream: the captures that it would then depend on, each with a stream that takes part in it
    and synchronises with the legacy one."""
    if not model.captures():
        return []
    if is_synchronous_copy(call.entry_point):
        context = model.current_context(call)
    else:
        context = next((stream.context for stream in streams_named(call, model) if stream.legacy), None)
    if context is None:
        return []
    found = []
    for capture in model.captures():
        stream = next((one for one in capture.streams if one.blocking and one.context is context), None)
        if stream is not None:
            found.append((capture, stream))
    return found


def whole_context(call: Call, model: ModelView) -> Context | None:
    """The context that the call waits for, or of which it records or delays all streams."""
    if call.name in OF_ALL_STREAMS:
        return model.context_at(call.arg("hCtx"))
    waits = call.entry_point.does(Verb.BLOCKS, to=(Kind.CONTEXT,))
    return model.current_context(call) if waits and model.green_context(call) is None else None


def of_named(call: Call, model: ModelView) -> list[Capture]:
    """Captures, broken or not, of the streams and events that the call names, and of the context that it waits for."""
    found = [stream.capture for stream in streams_named(call, model) if stream.capture is not None]
    for role in call.entry_point.roles:
        if role.kind is Kind.EVENT and role.parameter and role.verb not in _NAMES_NONE:
            event = model.object_named(call, role)
            if isinstance(event, Event) and event.captured is not None and event.captured.ended_by is None:
                found.append(event.captured)
    context = whole_context(call, model)
    if context is not None:
        found += [capture for capture in model.captures() if capture.origin.context is context]
    return found
