"""Contexts: which is current, which is primary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_CONTEXT, NOT_PERMITTED, SUCCESS
from cuvet.catalog.roles import Kind
from cuvet.model.answers.registry import returned_by, written_by

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.view import ModelView


@returned_by("cuCtxPopCurrent")
def of_pop(model: ModelView, call: Call) -> tuple[int, ...]:
    """Programs pop until there is nothing left: it is no mistake."""
    return (SUCCESS,) if model.current_handle(call) or not model.complete else (INVALID_CONTEXT,)


@returned_by("cuDevicePrimaryCtxReset")
def of_reset(model: ModelView, call: Call) -> tuple[int, ...]:
    """Green contexts hold the primary context of their device."""
    greens = (green for green in model.objects(Kind.GREEN_CONTEXT) if green.device == call.arg("dev"))
    return (SUCCESS,) if next(greens, None) is None else (NOT_PERMITTED,)


@written_by("cuCtxGetCurrent", "cuCtxPopCurrent")
def current(model: ModelView, call: Call) -> dict[int, int]:
    return {0: model.current_handle(call)}


@written_by("cuCtxGetDevice")
def current_device(model: ModelView, call: Call) -> dict[int, int]:
    device = model.device_of(call)
    return {} if device is None else {0: device}


@written_by("cuDevicePrimaryCtxRetain")
def primary(model: ModelView, call: Call) -> dict[int, int]:
    context = model.primaries.get(call.arg("dev"))
    return {} if context is None else {0: context.handle}


@written_by("cuDevicePrimaryCtxGetState")
def primary_state(model: ModelView, call: Call) -> dict[int, int]:
    context = model.primaries.get(call.arg("dev"))
    return {1: 0 if context is None else context.flags, 2: int(context is not None and context.alive)}
