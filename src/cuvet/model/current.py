"""Which calls work in the context that is current on their thread."""

from __future__ import annotations

from functools import cache

from cuvet.catalog import EntryPoint
from cuvet.catalog.kinds import ALLOCATIONS, BY_NUMBER, OF_CONTEXT
from cuvet.catalog.roles import ENDS, MAKES, Kind, Verb
from cuvet.model.call import Call
from cuvet.model.capturing import stream_roles

_MADE_IN_CONTEXT = OF_CONTEXT - {Kind.FUNCTION, Kind.EXTERNAL_MEMORY, Kind.EXTERNAL_SEMAPHORE, Kind.GRAPHICS_RESOURCE}
"""The last three were not tried without a context."""
_MADE_THERE = MAKES | {Verb.REGISTERS}
NUMBERED_IN_CONTEXT = BY_NUMBER & OF_CONTEXT
"""Kinds whose handles are numbers, from 1 in each context: another context does not know them, or has given them to its own."""
_BUILT_IN_STREAMS = range(3)
_LOOKS_AT_DESTROYED = frozenset({"cuCtxGetFlags"})
"""Entry points that need a current context, and do with a destroyed one."""
_BY_NAME = frozenset(
    {"cuLinkCreate", "cuTexObjectGetResourceDesc", "cuTexObjectGetResourceViewDesc", "cuTexObjectGetTextureDesc"}
    | {"cuSurfObjectGetResourceDesc"}
)
"""Others that need a context."""


def needs_context(call: Call) -> bool:
    """Whether there has to be a context: the call makes something in it, asks about it, waits for it, or names one of its default
    streams. A stream that was created brings its context along."""
    index = call.entry_point.index
    if streams := [call.args[index[role.parameter]] for role in stream_roles(call.entry_point)]:
        return any(word in _BUILT_IN_STREAMS for word in streams)
    return _needs_context(call.entry_point)


@cache
def always_needs_context(entry_point: EntryPoint) -> bool:
    """Whether all its calls need one: it is given no stream, which may bring its context along."""
    return not stream_roles(entry_point) and _needs_context(entry_point)


def refuses_destroyed_context(call: Call) -> bool:
    """Whether a current context must not be a destroyed one. Without a context memory is freed, and copied on a stream that was created;
    with a destroyed one it is not."""
    always = _refuses_destroyed_context(call.entry_point)
    return needs_context(call) if always is None else always


@cache
def _refuses_destroyed_context(entry_point: EntryPoint) -> bool | None:
    """None: if its calls need a context."""
    if entry_point.name in _LOOKS_AT_DESTROYED:
        return False
    if entry_point.name.startswith("cuMemcpy"):
        return True
    if stream_roles(entry_point):
        return None
    return _needs_context(entry_point) or _ends_memory(entry_point)


@cache
def _needs_context(entry_point: EntryPoint) -> bool:
    if entry_point.name in _BY_NAME or entry_point.name.startswith("cuOccupancy"):
        return True
    return any(
        (role.verb in _MADE_THERE and role.kind in _MADE_IN_CONTEXT and not role.parent and role.variant != "mapped")
        or (role.verb is Verb.DESTROYS and role.kind in NUMBERED_IN_CONTEXT)
        or (role.verb is Verb.BLOCKS and role.kind is Kind.CONTEXT)
        or (role.verb is Verb.USES and role.kind is Kind.CONTEXT and not role.parameter)
        for role in entry_point.roles
    )


@cache
def _ends_memory(entry_point: EntryPoint) -> bool:
    return any(
        role.verb in ENDS and role.kind in ALLOCATIONS and role.variant != "mapped" for role in entry_point.roles
    )
