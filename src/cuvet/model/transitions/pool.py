"""Memory pools: of the user, and the default one of each device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import MemoryPool
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model


@for_role(Verb.CREATES, Kind.MEMORY_POOL)
def create(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    handle = output(call, outcome, role.parameter)
    if handle:
        _add(model, call, outcome, handle, role.parameter)


@instead_of_roles("cuDeviceGetDefaultMemPool")
def get_default(model: Model, call: Call, outcome: Outcome) -> None:
    pool = _known(model, call, outcome, "pool_out")
    if pool is not None:
        pool.default, pool.device = True, parameter(call, "dev")
        model.default_pools[parameter(call, "dev")] = pool


@instead_of_roles("cuDeviceGetMemPool")
def get_current(model: Model, call: Call, outcome: Outcome) -> None:
    pool = _known(model, call, outcome, "pool")
    if pool is not None:
        pool.device = parameter(call, "dev")


def _known(model: Model, call: Call, outcome: Outcome, name: str) -> MemoryPool | None:
    handle = output(call, outcome, name)
    if not handle:
        return None
    pool = model.find(Kind.MEMORY_POOL, handle)
    if isinstance(pool, MemoryPool) and pool.alive:
        return pool
    return _add(model, call, outcome, handle, name)


def _add(model: Model, call: Call, outcome: Outcome, handle: int, name: str) -> MemoryPool:
    pool = model.create(MemoryPool, Kind.MEMORY_POOL, handle, call, outcome, name, None)
    pool.context = pool.device = None
    return pool


@after_roles("cuMemPoolSetAccess")
def set_access(model: Model, call: Call, outcome: Outcome) -> None:
    """From now on devices may reach stream-ordered memory of others."""
    model.pools_shared = True
