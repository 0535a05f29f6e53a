"""Objects of any kind: made, handed out again, destroyed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.kinds import ALLOCATIONS, OUTLIVES_CONTEXT, WITHOUT_CONTEXT
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import CLASSES, Event, Object, Stream
from cuvet.model.transitions.registry import for_role

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model


def parameter(call: Call, name: str, absent: int = 0) -> int:
    """The word passed for a parameter; ``absent`` if this variant of the entry point does not have it."""
    index = call.entry_point.index.get(name, len(call.args))
    return call.args[index] if index < len(call.args) else absent


def output(call: Call, outcome: Outcome, name: str) -> int:
    """The word that the driver wrote through the parameter; 0 if that is not known."""
    return outcome.outputs.get(call.entry_point.index.get(name, -1), 0)


def text(call: Call, name: str) -> str:
    """The C string passed for the parameter; empty if it was not stored."""
    data = call.inputs.get(call.entry_point.index.get(name, -1), b"")
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def owner(model: Model, call: Call, outcome: Outcome, role: Role) -> Object | None:
    """The object that the role's new object belongs to: ``role.parent``, else the current context if it dies with that. A node that
    another is asked for is of the same graph."""
    index = call.entry_point.index.get(role.parent)
    if index is None:
        green = model.green_context(call) if role.kind is Kind.STREAM else None
        return None if role.kind in OUTLIVES_CONTEXT else green.parent if green else model.living_context(call)
    kind = next((other.kind for other in call.entry_point.roles if other.parameter == role.parent), Kind.NONE)
    if kind in (Kind.NONE, Kind.DEVICE):
        return None
    if call.entry_point.parameters[index].out:
        return model.find(kind, outcome.outputs.get(index, 0))
    named = model.object_of(call, index, kind)
    return named.parent if named is not None and kind is role.kind is Kind.GRAPH_NODE else named


@for_role(Verb.CREATES)
@for_role(Verb.ALLOCATES)
def create(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    handle = output(call, outcome, role.parameter)
    if handle:
        make(model, call, outcome, role, handle)


@for_role(Verb.RETURNS)
def hand_out(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """What is handed out lives: a handle that names nothing, or something that has ended, is of a new object."""
    if role.kind in (Kind.NONE, Kind.DEVICE) or role.kind in ALLOCATIONS:
        return
    if role.count:
        handles = outcome.handed_out.get(call.entry_point.index[role.parameter], ())
    else:
        handles = ((output(call, outcome, role.parameter), 0),)
    for handle, generation in handles:
        known = model.table.find(role.kind, handle)
        if handle and (known is None or not known.alive):
            make(model, call, outcome, role, handle, generation)


@for_role(Verb.DESTROYS)
@for_role(Verb.FREES)
@for_role(Verb.UNREGISTERS)
def destroy(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    index = call.entry_point.index[role.parameter]
    found = model.object_of(call, index, role.kind)
    if found is not None:
        if role.kind.row.end_waits:  # that the host has waited is the careful assumption
            model.order.finish_context(found.context)
        model.end(found, call)


def make(model: Model, call: Call, outcome: Outcome, role: Role, handle: int, generation: int = 0) -> Object:
    """A new object of the role's kind. ``generation``: if the shim has told it elsewhere than for the parameter."""
    cls = CLASSES.get(role.kind, Object)
    parent = owner(model, call, outcome, role)
    made = model.create(cls, role.kind, handle, call, outcome, role.parameter, parent, generation)
    if role.kind in WITHOUT_CONTEXT:
        made.context = None
    if isinstance(made, (Stream, Event)):
        made.flags = parameter(call, "Flags", parameter(call, "flags"))
    return made
