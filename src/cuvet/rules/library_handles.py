"""What the rules about objects of CUDA's libraries share."""

import re
from collections.abc import Iterator
from functools import cache

from cuvet.catalog import EntryPoint, status_name
from cuvet.catalog.kinds import LIBRARY_OBJECTS, NEEDED_BY_LIBRARIES
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.objects import LibraryObject
from cuvet.rules.lifecycle import Named, named_among, was_seen_made

_SETTING = re.compile(r"Set|Get|Query|Create|Destroy|Estimate|bufferSize|Logger")
_EXECUTING = re.compile(r"cufft(Xt)?Exec")
_ELSEWHERE = frozenset({"host", "several devices"})
"""Variants of roles that make handles which belong to no context."""
_NULL_PLAN = 0xFFFFFFFF
"""CUFFT_PLAN_NULL, -1. Zero may be a plan."""


@cache
def works(entry_point: EntryPoint) -> bool:
    """Whether calls of the entry point compute with their handle, as far as the name shows. For cuFFT: whether they execute a plan."""
    if entry_point.api == "cufft":
        return _EXECUTING.match(entry_point.name) is not None
    return not _SETTING.search(entry_point.name) and any(
        role.verb is Verb.USES and role.kind in NEEDED_BY_LIBRARIES for role in entry_point.roles
    )


def handles_used(call: Call, model: ModelView, kinds: frozenset[Kind]) -> Iterator[tuple[Named, LibraryObject]]:
    """Living objects of these kinds that the call uses."""
    for use in named_among(call, model, kinds, frozenset({Verb.USES})):
        if isinstance(use.object, LibraryObject) and use.object.alive:
            yield use, use.object


def dead_unseen(call: Call, model: ModelView, verbs: frozenset[Verb]) -> Iterator[Named]:
    """Objects that the shim saw made and destroyed, but that the recording does not have."""
    for use in named_among(call, model, LIBRARY_OBJECTS, verbs):
        if use.object is None and was_seen_made(call, use) and not call.seen[use.argument].alive:
            yield use


def is_of_one_context(handle: LibraryObject) -> bool:
    """Whether it belongs to the context in which it was made: cuSolverMg uses several devices, a generator may be the host's."""
    maker = handle.created_by
    return maker is not None and not any(role.variant in _ELSEWHERE for role in maker.entry_point.roles)


def is_null(use: Named) -> bool:
    """Whether the call is given nothing where it wants an object."""
    if use.role.kind is Kind.CUFFT_PLAN:
        return use.handle & _NULL_PLAN == _NULL_PLAN
    return use.handle == 0


def returned(call: Call, status: int) -> str:
    """``cudnnCreate returned CUDNN_STATUS_NOT_INITIALIZED (1001)``."""
    return f"{call.name} returned {status_name(call.entry_point.api, status)} ({status})"
