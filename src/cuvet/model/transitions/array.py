"""Mipmapped arrays and their levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.naming import member
from cuvet.model.objects import MipmappedArray
from cuvet.model.transitions.object import hand_out as hand_out_object
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import for_role, instead_of_roles

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model


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
    found = model.find(Kind.ARRAY, output(call, outcome, role.parameter) or 0)
    if found is not None and found.alive and found.parent is not None:
        found.context, found.device = found.parent.context, found.parent.device
