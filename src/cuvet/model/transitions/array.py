"""Arrays: mipmapped ones and their levels; ends and planes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_VALUE, SUCCESS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.ledger import bytes_of_array
from cuvet.model.naming import member
from cuvet.model.objects import MipmappedArray
from cuvet.model.transitions.object import hand_out as hand_out_object
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import for_role, instead_of_roles, returned_by

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.view import ModelView


@instead_of_roles("cuMipmappedArrayCreate")
def create_mipmapped(model: Model, call: Call, outcome: Outcome) -> None:
    """As many levels as are asked for, but one at least, and at most one more than its largest extent can be halved."""
    handle = output(call, outcome, "pHandle")
    if not handle:
        return
    context = model.living_context(call)
    made = model.create(MipmappedArray, Kind.MIPMAPPED_ARRAY, handle, call, outcome, "pHandle", context)
    extents = [member(call, "pMipmappedArrayDesc", name) or 0 for name in ("Width", "Height", "Depth")]
    if any(extents):
        made.levels = min(max(parameter(call, "numMipmapLevels"), 1), max(extents).bit_length())


@for_role(Verb.RETURNS, Kind.ARRAY)
def hand_out(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """A level or plane belongs to the context of its array, whichever is current."""
    hand_out_object(model, call, outcome, role)
    found = model.find(Kind.ARRAY, output(call, outcome, role.parameter))
    if found is not None and found.alive and found.parent is not None:
        found.context, found.device = found.parent.context, found.parent.device


_ARRAY_COPIES = tuple(
    f"cuMemcpy{kind}{suffix}" for kind in ("HtoA", "AtoH", "DtoA", "AtoD", "AtoA") for suffix in ("", "Async")
)
_WITHOUT_PLANES = frozenset({0x01, 0x02, 0x03, 0x08, 0x09, 0x0A, 0x10, 0x20})
"""CUarray_format: whole numbers, half and float."""


@returned_by(*_ARRAY_COPIES)
def of_array_copy(model: ModelView, call: Call) -> tuple[int, ...]:
    """Of one array, or between two: not past its end."""
    index = call.entry_point.index
    for name in ("dstArray", "srcArray"):
        array = model.object_of(call, index[name], Kind.ARRAY) if name in index else None
        offset = f"{name.removesuffix('Array')}Offset"
        past = call.arg("ByteCount") + (call.arg(offset) if offset in index else 0)
        made = None if array is None else array.created_by
        if made is not None and "pAllocateArray" in made.entry_point.index and 0 < bytes_of_array(made) < past:
            return (INVALID_VALUE,)
    return (SUCCESS,)


@returned_by("cuArrayGetPlane")
def of_plane(model: ModelView, call: Call) -> tuple[int, ...]:
    """Only arrays of some formats have planes."""
    array = model.object_of(call, call.entry_point.index["hArray"], Kind.ARRAY)
    made = None if array is None else array.created_by
    if made is None or "pAllocateArray" not in made.entry_point.index:
        return (SUCCESS, INVALID_VALUE)
    return (INVALID_VALUE,) if member(made, "pAllocateArray", "Format") in _WITHOUT_PLANES else (SUCCESS,)
