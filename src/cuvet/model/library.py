"""The objects of CUDA's libraries: what a call of a library does to them.

What a library does with the driver shows in driver calls of their own. So nothing here touches streams, memory or order, unless races are
looked for: then calls of which it is known what they touch are work themselves. A library's object ends only by a call of that library: no
document says that it ends with its context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from cuvet.catalog.apis import LIBRARIES
from cuvet.catalog.authored.libraries.accessed import held
from cuvet.catalog.kinds import LIBRARY_HANDLES, LIBRARY_OBJECTS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.library_accesses import in_group, is_work, may_wait, streams_of_group, works_on
from cuvet.model.objects import Allocation, Context, LibraryObject, Stream
from cuvet.model.transitions.stream import enqueue_on

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.view import ModelView
    from cuvet.rules.rule import Violation

_RESETS_WORKSPACE = frozenset({"cublasSetStream"})
"""Where setting the stream also gives the library's own workspace back (cuBLAS, cublasSetStream)."""


def observe(model: Model, call: Call, outcome: Outcome) -> None:
    """``call`` of a library was made and ended so. A failed one changes nothing; one that did not return counts as made."""
    if model.touches is not None:
        _work(model, call, outcome)
    for role in call.entry_point.roles:
        if role.verb is Verb.CREATES and role.kind in LIBRARY_OBJECTS:
            _create(model, call, outcome, role)
        elif outcome.status:
            continue
        elif role.verb is Verb.REGISTERS and role.kind in LIBRARY_OBJECTS:
            model.create(LibraryObject, role.kind, call.arg(role.parameter), call, outcome, role.parameter, None)
        elif role.verb is Verb.DESTROYS and role.kind in LIBRARY_OBJECTS:
            for found in model.objects_named(call, role):
                model.end(found, call)
        elif role.verb is Verb.SETS_STREAM:
            _set_stream(model, call, role)
        elif role.verb is Verb.SETS_WORKSPACE:
            _set_workspace(model, call, role)
    if model.touches is not None and held(call.entry_point) and not outcome.status:
        _hold(model, call, outcome)


def _work(model: Model, call: Call, outcome: Outcome) -> None:
    """The work of the call, or of the group of calls that it ends, is given to its stream."""
    thread = model.threads[call.thread]
    if call.entry_point.does(Verb.BEGINS_GROUP):
        thread.groups += not outcome.status
    elif call.entry_point.does(Verb.ENDS_GROUP):
        streams = streams_of_group(call, model)
        if len(streams) == 1 and not outcome.status:
            _enqueue(model, call)
        elif len(streams) > 1:
            for stream in streams:
                if stream is not None:
                    model.order.doubt(stream)
        if thread.groups <= 1:
            thread.grouped.clear()
        thread.groups = max(0, thread.groups - 1)
    elif is_work(call.entry_point) and not outcome.status:
        if in_group(call, model):
            thread.grouped.append(call)
        else:
            _enqueue(model, call)


def _hold(model: Model, call: Call, outcome: Outcome) -> None:
    """The descriptor is given memory instead of what it held: instead of its values, if it is given nothing but values."""
    made = call.entry_point.index.get(next((role.parameter for role in call.entry_point.roles), ""), 0)
    handle = outcome.outputs.get(made, call.args[made])
    descriptor = model.find(Kind.CUSPARSE_DESCRIPTOR, handle)
    if not isinstance(descriptor, LibraryObject):
        return
    given = [each.parameter for each in held(call.entry_point)]
    kept = descriptor.holds if given == ["values"] else {}
    structure = {name: giver for name, giver in kept.items() if not name.lower().endswith("values")}
    descriptor.holds = {**structure, **dict.fromkeys(given, call)}


def _enqueue(model: Model, call: Call) -> None:
    stream = works_on(call, model)
    if stream is not None:
        enqueue_on(model, call, stream)
        if stream.capture is None and may_wait(call, model):
            model.order.perhaps_finish(model.order.record(stream))


def _create(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """What a call that failed was to make is remembered until one of that kind is made."""
    if outcome.status:
        model.threads[call.thread].not_made[role.kind] = (call, outcome.status)
        return
    index = call.entry_point.index[role.parameter]
    handles = outcome.handed_out.get(index, ())  # in an array
    if not handles and index in outcome.outputs:
        handles = ((outcome.outputs[index], 0),)
    for thread in model.threads.values() if handles else ():
        thread.not_made.pop(role.kind, None)
    for handle, generation in handles:
        made = model.create(LibraryObject, role.kind, handle, call, outcome, role.parameter, None, generation)
        made.context = _context(model, call)
        made.device = None if made.context is None else made.context.device


def _context(model: Model, call: Call) -> Context | None:
    """The context that is current when the call returns: a library that finds none takes the primary one of the thread's device."""
    if call.context:
        return model.adopt_context(call.context)
    current = model.threads[call.thread].current
    return None if current is None else model.context_at(current.handle)


def _set_stream(model: Model, call: Call, role: Role) -> None:
    handle = owner(model, call, role)
    if handle is None:
        return
    handle.stream = stream_named(model, call, role)
    handle.works_on = model.stream_of(call, call.entry_point.index[role.parameter])
    handle.stream_set_by = call
    if call.name in _RESETS_WORKSPACE:
        handle.workspace = handle.workspace_set_by = None


def stream_named(model: ModelView, call: Call, role: Role) -> Stream | None:
    """The stream that the role's parameter names; None for the default streams, and if it is not known."""
    found = model.object_named(call, role)
    return found if isinstance(found, Stream) else None


def _set_workspace(model: Model, call: Call, role: Role) -> None:
    handle = owner(model, call, role)
    if handle is not None:
        memory = model.allocation_at(call.arg(role.parameter))
        handle.workspace = memory if isinstance(memory, Allocation) else None
        handle.workspace_set_by = call


def not_made(model: ModelView, call: Call) -> Mapping[Kind, tuple[Call, int]]:
    """Kinds of which the thread of this call tried to make an object, in vain: the newest try of each, and its status."""
    thread = model.threads.get(call.thread)
    return {} if thread is None else thread.not_made


def of_library(violation: Violation) -> Violation:
    """What is known of a violation by a call of a library: a rule of the driver does not know what the library returns."""
    if violation.rule.kinds is not None and violation.rule.kinds <= LIBRARY_OBJECTS:
        return violation
    return replace(violation, outcomes=(), undefined=True)


def statuses(model: ModelView, call: Call) -> tuple[int, ...]:
    """What a call that breaks no rule returns."""
    library = LIBRARIES[call.entry_point.api]
    if library.cuda_missing is None or not makes_handle(call.entry_point):
        return (0,)
    if model.initialised_before_fork or not model.devices:
        return (library.cuda_missing,)
    return (library.context_lost or 0,) if model.sticky_error(call) else (0,)


def cuda_missing(entry_point: EntryPoint) -> int:
    """What a call that is to make a handle returns when CUDA does not start; 0 if that is not known."""
    return LIBRARIES[entry_point.api].cuda_missing or 0


@cache
def needs_cuda(entry_point: EntryPoint) -> bool:
    """Whether its calls are about objects that are not made without CUDA."""
    return any(role.kind in LIBRARY_HANDLES for role in entry_point.roles)


@cache
def makes_handle(entry_point: EntryPoint) -> bool:
    """Whether its calls make a handle or plan that is not made without CUDA."""
    return entry_point.does(Verb.CREATES, to=LIBRARY_HANDLES)


def outputs(model: ModelView, call: Call) -> dict[int, int]:
    """Values that the library writes, where the model knows them, by parameter index: the stream of a handle."""
    roles = call.entry_point.roles
    returned = next((role for role in roles if role.verb is Verb.RETURNS and role.kind is Kind.STREAM), None)
    if returned is None:
        return {}
    used = (model.object_named(call, role) for role in roles if role.verb is Verb.USES)
    found = next((each for each in used if isinstance(each, LibraryObject)), None)
    if found is None:
        return {}
    return {call.entry_point.index[returned.parameter]: found.stream.handle if found.stream else 0}


def owner(model: ModelView, call: Call, role: Role) -> LibraryObject | None:
    """The living handle whose stream or workspace the role sets."""
    index = call.entry_point.index.get(role.parent)
    kind = next((other.kind for other in call.entry_point.roles if other.parameter == role.parent), Kind.NONE)
    found = None if index is None else model.object_of(call, index, kind)
    return found if isinstance(found, LibraryObject) and found.alive else None
