"""Functions, kernels and variables of modules and libraries; linkers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import (
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_SOURCE,
    INVALID_VALUE,
    NOT_FOUND,
    SUCCESS,
    UNKNOWN,
)
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.code import code_of, loaded_from, text_of
from cuvet.model.objects import Function, Linker
from cuvet.model.transitions.object import make, output, text
from cuvet.model.transitions.registry import after_roles, for_role, returned_by

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.view import ModelView


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


_PTX = b".version"
"""What every PTX text begins with, after comments: it is what programs link."""
_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""
_MOST_THREADS = 1024
"""Of a block, on every GPU so far."""


@returned_by("cuModuleGetGlobal", "cuLibraryGetGlobal", "cuLibraryGetManaged")
def of_variable(model: ModelView, call: Call) -> tuple[int, ...]:
    """Which variables an image has is known of PTX only."""
    index = call.entry_point.index
    kind, owner = (Kind.MODULE, "hmod") if "hmod" in index else (Kind.CULIBRARY, "library")
    found = model.object_of(call, index[owner], kind)
    code = code_of(found)
    if code is None or (call.name == "cuLibraryGetManaged" and b".managed" in loaded_from(found)):
        return (SUCCESS, NOT_FOUND)
    name = call.inputs.get(index["name"], b"").split(b"\0")[0].decode("utf-8", "replace")
    return (SUCCESS,) if name in code.variables and call.name != "cuLibraryGetManaged" else (NOT_FOUND,)


@returned_by("cuLibraryGetUnifiedFunction")
def of_unified_function(model: ModelView, call: Call) -> tuple[int, ...]:
    text = loaded_from(model.object_of(call, call.entry_point.index["library"], Kind.CULIBRARY))
    return (SUCCESS, INVALID_VALUE) if not text or b".unified" in text else (INVALID_VALUE,)


@returned_by("cuFuncGetParamInfo", "cuKernelGetParamInfo")
def of_kernel_parameter(model: ModelView, call: Call) -> tuple[int, ...]:
    """How many parameters a kernel has is known of PTX only."""
    function = model.object_of(call, 0, Kind.FUNCTION)
    code = code_of(function)
    kernel = code.kernels.get(function.symbol) if code is not None and isinstance(function, Function) else None
    if kernel is None:
        return (SUCCESS, INVALID_VALUE)
    return (SUCCESS,) if call.arg("paramIndex") < len(kernel.parameters) else (INVALID_VALUE,)


@returned_by("cuFuncSetAttribute")
def of_function_attribute(model: ModelView, call: Call) -> tuple[int, ...]:
    """Shared memory that a block asks for is not less than nothing."""
    return (INVALID_VALUE,) if call.arg("attrib") == _DYNAMIC_SHARED and call.arg("value") < 0 else (SUCCESS,)


@returned_by("cuOccupancyMaxActiveClusters", "cuOccupancyMaxPotentialClusterSize")
def of_clusters(model: ModelView, call: Call) -> tuple[int, ...]:
    """Asked in the context of the function."""
    function = model.object_of(call, call.entry_point.index["func"], Kind.FUNCTION)
    context = None if function is None else function.context
    return (SUCCESS,) if context in (None, model.current_context(call)) else (INVALID_HANDLE,)


@returned_by("cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
def of_active_blocks(model: ModelView, call: Call) -> tuple[int, ...]:
    return (SUCCESS,) if call.arg("blockSize") else (INVALID_VALUE,)


@returned_by("cuOccupancyAvailableDynamicSMemPerBlock")
def of_block_size(model: ModelView, call: Call) -> tuple[int, ...]:
    return (INVALID_VALUE,) if call.arg("blockSize") > _MOST_THREADS else (SUCCESS,)


@returned_by("cuLinkAddData", "cuLinkAddFile")
def of_link(model: ModelView, call: Call) -> tuple[int, ...]:
    """What is added twice is defined twice, if it is the same: 10 of 12 times the error told so. Nothing is added to what is complete."""
    linker = model.object_of(call, call.entry_point.index["state"], Kind.LINKER)
    if not isinstance(linker, Linker):
        return (SUCCESS,)
    if linker.completed_by is not None:
        return (INVALID_VALUE,)
    if call.image and _PTX not in call.image:
        return (INVALID_IMAGE,)
    return (SUCCESS,) if linker.added_by is None else (SUCCESS, INVALID_SOURCE, UNKNOWN)
