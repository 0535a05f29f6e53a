"""What the driver answers to a call that breaks no rule, and the values it hands out that the model knows."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from cuvet.catalog import EntryPoint
from cuvet.catalog.kinds import SURVIVES_FAULT
from cuvet.catalog.results import (
    CONTEXT_IS_DESTROYED,
    DEINITIALIZED,
    ILLEGAL_ADDRESS,
    INVALID_CONTEXT,
    INVALID_VALUE,
    LAUNCH_FAILED,
    NOT_INITIALIZED,
    OUT_OF_MEMORY,
    SUCCESS,
)
from cuvet.catalog.roles import ENDS, Kind, Role, Verb
from cuvet.model.call import CRASH, Call
from cuvet.model.current import needs_context, refuses_destroyed_context
from cuvet.model.objects import Allocation
from cuvet.model.precedence import Stage
from cuvet.model.transitions import OUTPUTS, STATUSES
from cuvet.model.transitions.event import of_query
from cuvet.model.transitions.registry import Statuses
from cuvet.model.view import ModelView

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
_UNIFIED = frozenset({"cuMemcpy", "cuMemcpyAsync"})
"""Copies that find out themselves what an address is."""
_MOVES = frozenset({Verb.READS, Verb.WRITES})


def of_process(model: ModelView, call: Call) -> tuple[Stage, int] | None:
    """What every call returns while the driver is not there."""
    if model.shutdown_by:
        return Stage.PROCESS, DEINITIALIZED
    if model.initialised_by is None and call.name not in BEFORE_INIT:
        return Stage.PROCESS, NOT_INITIALIZED
    return None


def of_context(model: ModelView, call: Call) -> tuple[Stage, int] | None:
    """What every call returns that works in the current context, where there is none, or it was destroyed or has a sticky error."""
    if not refuses_destroyed_context(call):
        return None
    context = model.current_context(call)
    if context is None:
        return (Stage.CONTEXT, INVALID_CONTEXT) if needs_context(call) and not model.current_handle(call) else None
    if context.destroyed_by is not None:
        return Stage.CONTEXT, CONTEXT_IS_DESTROYED
    error = model.sticky_error(call)
    return None if error is None else (Stage.CONTEXT, error[1])


def of_legal_call(model: ModelView, call: Call) -> tuple[int, ...]:
    """Statuses of a call that breaks no rule, the likeliest first."""
    entry_point = call.entry_point
    error = model.sticky_error(call) if model.lost_contexts else None
    if error is not None:
        verbs = {role.verb for role in entry_point.roles if role.kind not in SURVIVES_FAULT}
        if verbs & (_WORK | ENDS) or _names_working(entry_point):
            return (error[1],)
    legal = _legal(entry_point)
    for role in legal.queries_and_allocates:
        if role.verb is Verb.QUERIES:
            return of_query(model, call, role)
        if _bytes(call, role) > model.memory:
            on_device = role.kind is Kind.MEMORY and role.variant != "managed"  # not pinned, not addresses alone
            return (OUT_OF_MEMORY,) if on_device else (SUCCESS, OUT_OF_MEMORY)
    if model.graphs_allocate and _moves_graph_memory(model, call):
        return (SUCCESS, INVALID_VALUE, CRASH) if entry_point.name in _UNIFIED else (SUCCESS, INVALID_VALUE)
    if legal.special is not None:
        return legal.special(model, call)
    if legal.waits:
        context = model.current_context(call)
        if context is not None and context.launched:
            return (SUCCESS, LAUNCH_FAILED, ILLEGAL_ADDRESS)
    return (SUCCESS,)


def surely_succeeds(model: ModelView, call: Call) -> bool:
    """Whether a call that breaks no rule can only succeed, whatever it names, and writes nothing that the model knows."""
    if not _legal(call.entry_point).succeeds:
        return False
    return not (model.lost_contexts or model.graphs_allocate or model.freed_twice_in or model.endangered)


class _Legal(NamedTuple):
    """What the statuses of an entry point's legal calls depend on. ``special``: what says them; ``waits``: as ``_waits``; ``succeeds``:
    nothing of it, and nothing says what they write."""

    queries_and_allocates: tuple[Role, ...]
    special: Statuses | None
    waits: bool
    succeeds: bool


@cache
def _legal(entry_point: EntryPoint) -> _Legal:
    roles = tuple(role for role in entry_point.roles if role.verb in (Verb.QUERIES, Verb.ALLOCATES))
    special, waits = STATUSES.get(entry_point.name), _waits(entry_point)
    nothing = not roles and special is None and not waits and entry_point.name not in OUTPUTS
    return _Legal(roles, special, waits, nothing)


def of_late_fault(model: ModelView, call: Call) -> tuple[int, ...]:
    """What any call may return that works on the device, once work has lost its memory and until the host has waited for that work; and
    of one that waits, once memory was freed twice and until its context ends. Rules call both frees wrong (memory-free-unordered,
    memory-free-twice)."""
    if model.freed_twice_in and _ends_or_waits(call.entry_point):
        return (CRASH,)
    endangered = model.endangered
    if not endangered or all(map(model.order.is_done, endangered.items())) or not _tells_faults(call.entry_point):
        return ()
    return (ILLEGAL_ADDRESS, LAUNCH_FAILED)


def _moves_graph_memory(model: ModelView, call: Call) -> bool:
    """Whether the call, outside of a capture, copies or sets memory that a graph allocates: whether that is there is not followed. A copy
    that finds out what an address is takes one that is not there for the host's."""
    stream = model.stream_on(call)
    if stream is not None and stream.capture is not None:
        return False
    return any(
        isinstance(found, Allocation) and found.variant == "graph"
        for role in call.entry_point.roles
        if role.verb in _MOVES
        for found in model.objects_named(call, role)
    )


@cache
def _ends_or_waits(entry_point: EntryPoint) -> bool:
    """Whether its calls wait for a context, or end one: then the driver frees for good what was freed in stream order."""
    return _waits(entry_point) or entry_point.does(Verb.DESTROYS, to=(Kind.CONTEXT,))


@cache
def _tells_faults(entry_point: EntryPoint) -> bool:
    """Whether its calls tell how work does that was enqueued before."""
    return any(
        role.kind in (Kind.STREAM, Kind.EVENT)
        or role.verb in _MOVES
        or (role.verb in _WORK | ENDS and (role.kind not in SURVIVES_FAULT or role.kind is Kind.CONTEXT))
        for role in entry_point.roles
    )


@cache
def _names_working(entry_point: EntryPoint) -> bool:
    """Whether its calls are about streams or functions."""
    return entry_point.does(Verb.USES, to=(Kind.STREAM, Kind.FUNCTION))


@cache
def _waits(entry_point: EntryPoint) -> bool:
    """Whether its calls wait for kernels, and so tell first that one has failed."""
    return entry_point.does(Verb.BLOCKS, to=(Kind.CONTEXT, Kind.STREAM, Kind.EVENT))


def outputs(model: ModelView, call: Call) -> dict[int, int]:
    """Values that the driver writes, where the model knows them, by parameter index."""
    known = OUTPUTS.get(call.entry_point.name)
    return {} if known is None else known(model, call)


def _bytes(call: Call, role: Role) -> int:
    index = call.entry_point.index.get(role.size)
    return 0 if index is None or index >= len(call.args) else call.args[index]
