"""Memory by address: what is there, of whom it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog import driver
from cuvet.catalog.results import INVALID_CONTEXT, INVALID_VALUE, NOT_FOUND, SUCCESS
from cuvet.model.answers.registry import returned_by
from cuvet.model.objects import Allocation

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.view import ModelView


@returned_by("cuMemHostGetFlags")
def of_host_flags(model: ModelView, call: Call) -> tuple[int, ...]:
    """Programs ask so whether memory is pinned: "no" is no mistake."""
    found = model.host_memory_at(call.arg("p"))
    return (SUCCESS,) if found is not None and found.alive else (INVALID_VALUE,)


@returned_by("cuMemGetAddressRange")
def of_address_range(model: ModelView, call: Call) -> tuple[int, ...]:
    """Memory that a graph allocates is there from its launch on; freed memory may still be found, and that of another device not."""
    address = call.arg("dptr")
    memory, host = model.allocation_at(address), model.host_memory_at(address)
    if memory is not None and memory.alive and memory.variant == "graph":
        return (NOT_FOUND, SUCCESS)
    if host is not None and host.alive:
        return (SUCCESS,)
    if memory is None:
        return (NOT_FOUND,)
    if not memory.alive:
        return (NOT_FOUND, SUCCESS)
    return (SUCCESS, NOT_FOUND) if memory.device not in (None, model.device_of(call)) else (SUCCESS,)


@returned_by("cuPointerGetAttribute")
def of_pointer(model: ModelView, call: Call) -> tuple[int, ...]:
    """Programs ask so what an address is: that it is nothing of CUDA's is no mistake. Memory of cuMemAlloc that cuMemFreeAsync freed is
    there for a while."""
    memory, host = model.allocation_at(call.arg("ptr")), model.host_memory_at(call.arg("ptr"))
    attribute, attributes = call.arg("attribute"), driver().enumerations["CUpointer_attribute"]
    if attribute not in attributes.values():
        return (INVALID_VALUE,)
    if host is not None and host.alive:
        return (SUCCESS,)
    if memory is not None and memory.freed_on is not None and memory.variant in ("linear", "pitched"):
        return (INVALID_VALUE, SUCCESS)
    if memory is None or not memory.alive or memory.variant == "graph":
        return (INVALID_VALUE,)
    if attribute == attributes["CU_POINTER_ATTRIBUTE_DEVICE_POINTER"] and memory.variant != "managed":
        return _of_device_pointer(model, call, memory)
    of_host = attribute == attributes["CU_POINTER_ATTRIBUTE_HOST_POINTER"]
    return (INVALID_VALUE,) if of_host and memory.variant != "managed" else (SUCCESS,)


def _of_device_pointer(model: ModelView, call: Call, memory: Allocation) -> tuple[int, ...]:
    """The address "through which ptr may be accessed by kernels running in the current CUcontext" (cuPointerGetAttribute)."""
    context = model.current_context(call)
    if context is None:
        return (SUCCESS, INVALID_CONTEXT)
    if not context.alive:
        return (INVALID_CONTEXT,)
    return (SUCCESS,) if model.reaches(context, memory) else (INVALID_VALUE,)


@returned_by("cuMemGetAccess")
def of_access(model: ModelView, call: Call) -> tuple[int, ...]:
    memory = model.allocation_at(call.arg("ptr"))
    return (SUCCESS,) if memory is not None and memory.alive and memory.variant == "mapped" else (INVALID_VALUE,)


@returned_by("cuPointerGetAttributes")
def of_pointer_attributes(model: ModelView, call: Call) -> tuple[int, ...]:
    known = driver().enumerations["CUpointer_attribute"].values()
    data = call.inputs.get(call.entry_point.index["attributes"], b"")
    asked = (int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4))
    return (SUCCESS,) if all(attribute in known for attribute in asked) else (INVALID_VALUE,)


@returned_by("cuPointerSetAttribute")
def of_memory_attribute(model: ModelView, call: Call) -> tuple[int, ...]:
    memory, context = model.allocation_at(call.arg("ptr")), model.current_context(call)
    if context is not None and not context.alive:
        return (INVALID_VALUE,)
    if memory is None:
        return (SUCCESS,)
    return (SUCCESS,) if memory.alive and memory.variant != "graph" else (SUCCESS, INVALID_VALUE)


@returned_by("cuGraphAddMemFreeNode", "cuMemFree", "cuMemFreeAsync")
def of_free(model: ModelView, call: Call) -> tuple[int, ...]:
    """Memory that a graph allocates is there from a launch on until another launch or the program frees it, which is not followed. Which
    addresses allocation nodes were given is not seen: memory that is not known may be a graph's. cuMemFree takes NULL."""
    memory = model.allocation_at(call.arg("dptr"))
    if memory is None or not memory.alive:
        return (SUCCESS,) if call.name == "cuMemFree" else (SUCCESS, INVALID_VALUE)
    return (SUCCESS, INVALID_VALUE) if memory.variant == "graph" else (SUCCESS,)
