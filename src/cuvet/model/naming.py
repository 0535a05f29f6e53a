"""Which words of a call name objects: parameters, elements of arrays, members of structs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cuvet.catalog import EntryPoint, driver
from cuvet.catalog.kinds import BY_HANDLE
from cuvet.catalog.launch_attributes import RECORDING
from cuvet.catalog.roles import INTRODUCES, Role, Verb
from cuvet.model.call import Call

if TYPE_CHECKING:
    from cuvet.model.objects import Event

POINTED_AT = "*"
"""``Role.field`` of a parameter that points to the handle itself."""


def is_named(role: Role) -> bool:
    """Whether the role names, by handle, an object that is there already."""
    return role.verb not in INTRODUCES and role.kind in BY_HANDLE


@cache
def role_on(entry_point: EntryPoint) -> Role | None:
    """The role of the stream that calls of the entry point enqueue work on."""
    return next((role for role in entry_point.roles if role.verb is Verb.ON), None)


def words_named(call: Call, role: Role) -> tuple[int, ...]:
    """The handles or addresses that the role's parameter passes; empty where the role does not hold for this call, the bytes
    that the parameter points to are not known, or the call is to write them."""
    index = call.entry_point.index.get(role.parameter)
    if index is None or index >= len(call.args):
        return ()
    if not (role.field or role.count or role.when):
        return (call.args[index],)
    if role.count and role.verb in INTRODUCES:
        return ()
    if role.when and member(call, role.parameter, role.when) not in role.values:
        return ()
    if role.field == POINTED_AT:
        data = call.inputs.get(index, b"")[:8]
        return (int.from_bytes(data, "little"),) if len(data) == 8 else ()
    if role.field:
        word = member(call, role.parameter, role.field)
        return () if word is None else (word,)
    if role.count:
        return _elements(call, index, role.count)
    return (call.args[index],)


def _elements(call: Call, index: int, count: str) -> tuple[int, ...]:
    data = call.inputs.get(index, b"")
    number = min(call.arg(count), len(data) // 8) if count in call.entry_point.index else len(data) // 8
    return tuple(int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(number))


def member(call: Call, name: str, field: str) -> int | None:
    """A member of the struct that the parameter of that name points to; None if its bytes are not known."""
    index = call.entry_point.index[name]
    data = call.inputs.get(index, b"")
    parameter = call.entry_point.parameters[index]
    offset, size = _place(parameter.pointee or parameter.type, field)
    return int.from_bytes(data[offset : offset + size], "little") if len(data) >= offset + size else None


def was_recorded(call: Call, argument: int, event: Event) -> bool:
    """Whether the event that the call names was recorded outside of captures, by a call that is known or not."""
    seen = call.seen.get(argument)
    unseen = event.captured is None and seen is not None and seen.recorded
    return event.recorded_by is not None or unseen


def events_recorded(call: Call) -> tuple[int, ...]:
    """The handles of the events that attributes of the launch record."""
    data = call.inputs.get(len(call.entry_point.parameters), b"")
    size, members = driver().structs["CUlaunchAttribute"].bytes, _recording()
    found = []
    for start in range(0, len(data) - size + 1, size):
        attribute = data[start : start + size]
        event = members.get(driver().member("CUlaunchAttribute", attribute, "id"))
        if event is not None:
            found.append(driver().member("CUlaunchAttribute", attribute, event))
    return tuple(found)


@cache
def _recording() -> dict[int, str]:
    """By the attribute's number: the member that names the event."""
    numbers = driver().enumerations["CUlaunchAttributeID"]
    return {numbers[name]: event for name, event in RECORDING.items()}


@cache
def _place(struct: str, field: str) -> tuple[int, int]:
    offset, size, _ = driver().field(struct, field)
    return offset, size
