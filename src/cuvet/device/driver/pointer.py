"""What a pointer points to."""

from dataclasses import dataclass

from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.invocation import Invocation, Refused, read, write_word
from cuvet.device.protocol import Steps

_HOST, _DEVICE = 1, 2  # CUmemorytype
_MANAGED_VARIANT = "managed"


@dataclass(frozen=True, slots=True)
class _Range:
    """Memory that CUDA knows. ``host``, ``device``: the addresses at which the host and the device reach it; 0 if they cannot."""

    start: int
    size: int
    kind: int
    context: int
    ordinal: int
    managed: bool
    host: bool
    device: bool
    number: int


def _find(call: Invocation, address: int) -> _Range | None:
    memory = call.model.allocation_at(address)
    if memory is not None and memory.alive:
        managed = memory.variant == _MANAGED_VARIANT
        context = memory.context.handle if memory.context else 0
        return _Range(
            memory.handle, memory.size, _DEVICE, context, memory.device or 0, managed, managed, True, memory.number
        )
    pinned = call.model.host_memory_at(address)
    if pinned is not None and pinned.alive:
        context = pinned.context.handle if pinned.context else 0
        return _Range(pinned.handle, pinned.size, _HOST, context, pinned.device or 0, False, True, True, pinned.number)
    return None


_BYTES = {
    "CU_POINTER_ATTRIBUTE_CONTEXT": 8, "CU_POINTER_ATTRIBUTE_MEMORY_TYPE": 4, "CU_POINTER_ATTRIBUTE_DEVICE_POINTER": 8,
    "CU_POINTER_ATTRIBUTE_HOST_POINTER": 8, "CU_POINTER_ATTRIBUTE_SYNC_MEMOPS": 1, "CU_POINTER_ATTRIBUTE_BUFFER_ID": 8,
    "CU_POINTER_ATTRIBUTE_IS_MANAGED": 1, "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL": 4,
    "CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE": 1, "CU_POINTER_ATTRIBUTE_RANGE_START_ADDR": 8,
    "CU_POINTER_ATTRIBUTE_RANGE_SIZE": 8, "CU_POINTER_ATTRIBUTE_MAPPED": 1, "CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES": 8,
    "CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE": 1, "CU_POINTER_ATTRIBUTE_ACCESS_FLAGS": 4,
    "CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE": 8, "CU_POINTER_ATTRIBUTE_MAPPING_SIZE": 8, "CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR": 8,
    "CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID": 8,
}  # fmt: skip


def _value(name: str, found: _Range, address: int) -> int:
    values = {
        "CONTEXT": found.context,
        "MEMORY_TYPE": found.kind,
        "DEVICE_POINTER": address if found.device else 0,
        "HOST_POINTER": address if found.host else 0,
        "BUFFER_ID": found.number,
        "IS_MANAGED": int(found.managed),
        "DEVICE_ORDINAL": found.ordinal,
        "RANGE_START_ADDR": found.start,
        "RANGE_SIZE": found.size,
        "MAPPED": 1,
        "ACCESS_FLAGS": 3,
        "MAPPING_SIZE": found.size,
        "MAPPING_BASE_ADDR": found.start,
        "MEMORY_BLOCK_ID": found.number,
    }
    return values.get(name.removeprefix("CU_POINTER_ATTRIBUTE_"), 0)


def _attribute(call: Invocation, attribute: int, found: _Range | None, target: int) -> Steps[int]:
    """Write one attribute's value; the values of a pointer that CUDA does not know are 0 (device ordinal: -2)."""
    for name, number in catalog().enumerations["CUpointer_attribute"].items():
        if number == attribute and name in _BYTES:
            value = _value(name, found, call["ptr"]) if found else -2 if name.endswith("DEVICE_ORDINAL") else 0
            yield from write_word(target, value, _BYTES[name])
            return status.SUCCESS
    return status.INVALID_VALUE


def cuPointerGetAttribute(call: Invocation) -> Steps[int]:
    found = _find(call, call["ptr"])
    if found is None or not call["data"]:
        return status.INVALID_VALUE
    if found.kind == _DEVICE and not found.host and call["attribute"] == _host_pointer():
        return status.INVALID_VALUE
    return (yield from _attribute(call, call["attribute"], found, call["data"]))


def _host_pointer() -> int:
    return catalog().enumerations["CUpointer_attribute"]["CU_POINTER_ATTRIBUTE_HOST_POINTER"]


def cuPointerGetAttributes(call: Invocation) -> Steps[int]:
    count = call["numAttributes"]
    attributes = yield from read(call["attributes"], 4 * count)
    targets = yield from read(call["data"], 8 * count)
    found = _find(call, call["ptr"])
    for position in range(count):
        attribute = int.from_bytes(attributes[4 * position : 4 * position + 4], "little")
        target = int.from_bytes(targets[8 * position : 8 * position + 8], "little")
        result = yield from _attribute(call, attribute, found, target)
        if result:
            return result
    return status.SUCCESS


def cuPointerSetAttribute(call: Invocation) -> int:
    return status.SUCCESS if _find(call, call["ptr"]) else status.INVALID_VALUE


def cuMemGetAddressRange(call: Invocation) -> None:
    found = _find(call, call["dptr"])
    if found is None:
        raise Refused(status.NOT_FOUND)
    call.give("pbase", found.start)
    call.give("psize", found.size)
