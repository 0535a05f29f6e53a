"""Arrays: their ends, their planes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_VALUE, SUCCESS
from cuvet.catalog.roles import Kind
from cuvet.model.answers.registry import returned_by
from cuvet.model.ledger import bytes_of_array
from cuvet.model.naming import member

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.view import ModelView

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
