"""Memory pools: of the user, and the default one of each device."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_VALUE, SUCCESS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.naming import member
from cuvet.model.objects import MemoryPool
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles, returned_by, written_by

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.view import ModelView

_DEVICE = 1
"""CU_MEM_LOCATION_TYPE_DEVICE."""
_NO_ACCESS = 0
"""CU_MEM_ACCESS_FLAGS_PROT_NONE."""


@for_role(Verb.CREATES, Kind.MEMORY_POOL)
def create(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """A pool that another process made may be reached from anywhere."""
    handle = output(call, outcome, role.parameter)
    if not handle:
        return
    pool = _add(model, call, outcome, handle, role.parameter)
    if call.name != "cuMemPoolCreate":
        pool.reached_from = None
    elif member(call, "poolProps", "location.type") == _DEVICE:
        pool.device = member(call, "poolProps", "location.id")


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
    pool = model.object_of(call, call.entry_point.index["pool"], Kind.MEMORY_POOL)
    if isinstance(pool, MemoryPool):
        pool.reached_from = with_access(call, "map", pool.reached_from)


def with_access(call: Call, parameter_name: str, before: frozenset[int] | None) -> frozenset[int] | None:
    """The devices that can reach memory after the call, which passes ``count`` CUmemAccessDesc: CUmemLocationType, device and
    CUmemAccess_flags. None if that is not known."""
    data = call.inputs.get(call.entry_point.index[parameter_name], b"")[: 12 * parameter(call, "count")]
    if before is None or len(data) < 12 * parameter(call, "count"):
        return None
    for location, device, flags in struct.iter_unpack("<III", data):
        if location == _DEVICE:
            before = before - {device} if flags == _NO_ACCESS else before | {device}
    return before


@after_roles("cuDeviceSetMemPool", "cuMemSetMemPool")
def set_current(model: Model, call: Call, outcome: Outcome) -> None:
    pool = model.object_of(call, call.entry_point.index["pool"], Kind.MEMORY_POOL)
    device = parameter(call, "dev") if "dev" in call.entry_point.index else member(call, "location", "id")
    if device is not None:
        model.current_pools[device] = pool if isinstance(pool, MemoryPool) else None


@returned_by("cuDeviceSetMemPool", "cuMemSetMemPool")
def of_pool(model: ModelView, call: Call) -> tuple[int, ...]:
    """A device takes its own pools only."""
    index = call.entry_point.index
    pool = model.object_of(call, index["pool"], Kind.MEMORY_POOL)
    made = None if pool is None else pool.created_by
    if made is None or made.name != "cuMemPoolCreate":
        return (SUCCESS,)
    device = member(made, "poolProps", "location.id")
    wanted = call.arg("dev") if "dev" in index else member(call, "location", "id")
    return (SUCCESS,) if device is None or wanted in (None, device) else (INVALID_VALUE,)


@written_by("cuDeviceGetDefaultMemPool")
def default_pool(model: ModelView, call: Call) -> dict[int, int]:
    pool = model.default_pools.get(call.arg("dev"))
    return {} if pool is None else {0: pool.handle}
