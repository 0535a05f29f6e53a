"""Texture and surface objects, and the arrays they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind
from cuvet.model.objects import Object, TextureObject
from cuvet.model.transitions.object import output
from cuvet.model.transitions.registry import after_roles

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model

_RESOURCES = {0: Kind.ARRAY, 1: Kind.MIPMAPPED_ARRAY}
"""CUresourcetype: the first member of CUDA_RESOURCE_DESC; the handle or address follows at byte 8."""


@after_roles("cuTexObjectCreate")
def create_texture(model: Model, call: Call, outcome: Outcome) -> None:
    _refer(model, call, outcome, Kind.TEXTURE_OBJECT)


@after_roles("cuSurfObjectCreate")
def create_surface(model: Model, call: Call, outcome: Outcome) -> None:
    _refer(model, call, outcome, Kind.SURFACE_OBJECT)


def resource(model: Model, description: bytes) -> Object | None:
    """The array or device memory that a CUDA_RESOURCE_DESC names; None if it is unknown."""
    if len(description) < 16:
        return None
    kind = _RESOURCES.get(int.from_bytes(description[:4], "little"))
    word = int.from_bytes(description[8:16], "little")
    return model.allocation_at(word) if kind is None else model.find(kind, word)


def _refer(model: Model, call: Call, outcome: Outcome, kind: Kind) -> None:
    handle = output(call, outcome, call.entry_point.parameters[0].name)
    made = model.find(kind, handle) if handle else None
    if isinstance(made, TextureObject):
        made.resource = resource(model, call.inputs.get(call.entry_point.index["pResDesc"], b""))
