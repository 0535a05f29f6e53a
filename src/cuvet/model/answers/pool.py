"""Memory pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_VALUE, SUCCESS
from cuvet.catalog.roles import Kind
from cuvet.model.answers.registry import returned_by, written_by
from cuvet.model.naming import member

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.view import ModelView


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
