"""Functions and kernels of modules and libraries; linkers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.code import loaded_from, text_of
from cuvet.model.objects import Function, Linker
from cuvet.model.transitions.object import make, output, text
from cuvet.model.transitions.registry import after_roles, for_role

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model


@for_role(Verb.RETURNS, Kind.FUNCTION, Kind.KERNEL)
def hand_out(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """A function belongs to its module's context; a kernel to none, and its function to the context it is asked for in."""
    handle = output(call, outcome, role.parameter)
    known = model.table.find(role.kind, handle) if handle else None
    if not handle or (known is not None and known.alive):
        return
    made = make(model, call, outcome, role, handle)
    if not isinstance(made, Function):
        return
    made.symbol = text(call, "name")
    if isinstance(made.parent, Function):
        made.symbol = made.parent.symbol
    elif made.parent is not None:
        made.context, made.device = made.parent.context, made.parent.device


@after_roles("cuModuleLoadData", "cuModuleLoadDataEx")
def compile_module(model: Model, call: Call, outcome: Outcome) -> None:
    _compile(model, call, text_of(call))


@after_roles("cuLibraryGetKernel")
def compile_library(model: Model, call: Call, outcome: Outcome) -> None:
    """A library is compiled when something of it is asked for."""
    _compile(model, call, loaded_from(model.object_of(call, call.entry_point.index["library"], Kind.CULIBRARY)))


def _compile(model: Model, call: Call, text: bytes) -> None:
    """The driver has compiled this PTX for the current device: it will do so again."""
    if text:
        model.compiled.add((text, model.capability(call)))


@after_roles("cuLinkAddData", "cuLinkAddFile")
def add_to_link(model: Model, call: Call, outcome: Outcome) -> None:
    linker = model.object_of(call, call.entry_point.index["state"], Kind.LINKER)
    if isinstance(linker, Linker):
        linker.added_by = call


@after_roles("cuLinkComplete")
def complete_link(model: Model, call: Call, outcome: Outcome) -> None:
    linker = model.object_of(call, call.entry_point.index["state"], Kind.LINKER)
    if isinstance(linker, Linker):
        linker.completed_by = call
