"""Pinned host memory: allocated by the driver, or registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import HostMemory
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import for_role

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model


@for_role(Verb.ALLOCATES, Kind.HOST_MEMORY)
def allocate(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    address = output(call, outcome, role.parameter)
    if address:
        _add(model, call, outcome, role, address, registered=False)


@for_role(Verb.REGISTERS, Kind.HOST_MEMORY)
def register(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    _add(model, call, outcome, role, parameter(call, role.parameter), registered=True)


def _add(model: Model, call: Call, outcome: Outcome, role: Role, address: int, registered: bool) -> None:
    size = parameter(call, role.size or "bytesize")
    for stale in model.overlapping_host_memory(address, size):
        model.lose(stale)
    context = model.living_context(call)
    memory = model.create(HostMemory, Kind.HOST_MEMORY, address, call, outcome, role.parameter, context)
    memory.size, memory.registered, memory.flags = size, registered, parameter(call, "Flags")
    model.host_memory.add(memory)
    model.ledger.begin(memory, call)
