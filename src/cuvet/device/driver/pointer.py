"""What a pointer points to."""

from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device.invocation import Invocation, Refused, read_words, require, write_word
from cuvet.device.protocol import Steps
from cuvet.model import Allocation, HostMemory

_HOST, _DEVICE = 1, 2  # CUmemorytype
_PREFIX = "CU_POINTER_ATTRIBUTE_"
_MANAGED = "managed"


_BYTES = {
    8: """CONTEXT DEVICE_POINTER HOST_POINTER BUFFER_ID RANGE_START_ADDR RANGE_SIZE ALLOWED_HANDLE_TYPES MEMPOOL_HANDLE MAPPING_SIZE
        MAPPING_BASE_ADDR MEMORY_BLOCK_ID""",
    4: "MEMORY_TYPE DEVICE_ORDINAL ACCESS_FLAGS",
    1: "SYNC_MEMOPS IS_MANAGED IS_LEGACY_CUDA_IPC_CAPABLE MAPPED IS_GPU_DIRECT_RDMA_CAPABLE",
}
_BYTES_OF = {name: size for size, names in _BYTES.items() for name in names.split()}


def _find(call: Invocation, address: int) -> Allocation | HostMemory | None:
    """Memory that CUDA knows."""
    candidates = (call.model.allocation_at(address), call.model.host_memory_at(address))
    return next((found for found in candidates if found is not None and found.alive), None)


def _is_on_device_only(found: Allocation | HostMemory) -> bool:
    return isinstance(found, Allocation) and found.variant != _MANAGED


def _value(name: str, found: Allocation | HostMemory, address: int) -> int:
    values = {
        "CONTEXT": found.context.handle if found.context else 0,
        "MEMORY_TYPE": _DEVICE if isinstance(found, Allocation) else _HOST,
        "DEVICE_POINTER": address,
        "HOST_POINTER": 0 if _is_on_device_only(found) else address,
        "IS_MANAGED": int(isinstance(found, Allocation) and found.variant == _MANAGED),
        "DEVICE_ORDINAL": found.device or 0,
        "MAPPED": 1,
        "ACCESS_FLAGS": 3,
        **dict.fromkeys(("RANGE_START_ADDR", "MAPPING_BASE_ADDR"), found.handle),
        **dict.fromkeys(("RANGE_SIZE", "MAPPING_SIZE"), found.size),
        **dict.fromkeys(("BUFFER_ID", "MEMORY_BLOCK_ID"), found.number),
    }
    return values.get(name, 0)


def _attribute(call: Invocation, attribute: int, found: Allocation | HostMemory | None, target: int) -> Steps[None]:
    """Write one attribute's value; the values of a pointer that CUDA does not know are 0 (device ordinal: -2)."""
    name = catalog().enumerator("CUpointer_attribute", attribute, _PREFIX)
    require(name in _BYTES_OF)
    value = _value(name, found, call["ptr"]) if found else -2 if name == "DEVICE_ORDINAL" else 0
    yield from write_word(target, value, _BYTES_OF[name])


def cuPointerGetAttribute(call: Invocation) -> Steps[None]:
    found = _find(call, call["ptr"])
    if found is None or not call["data"]:
        raise Refused(status.INVALID_VALUE)
    numbers = catalog().enumerations["CUpointer_attribute"]
    require(call["attribute"] != numbers[f"{_PREFIX}HOST_POINTER"] or not _is_on_device_only(found))
    return _attribute(call, call["attribute"], found, call["data"])


def cuPointerGetAttributes(call: Invocation) -> Steps[None]:
    attributes = yield from read_words(call["attributes"], call["numAttributes"], 4)
    targets = yield from read_words(call["data"], call["numAttributes"])
    found = _find(call, call["ptr"])
    for attribute, target in zip(attributes, targets, strict=True):
        yield from _attribute(call, attribute, found, target)


def cuPointerSetAttribute(call: Invocation) -> None:
    require(_find(call, call["ptr"]))


def cuMemGetAddressRange(call: Invocation) -> None:
    found = _find(call, call["dptr"])
    if found is None:
        raise Refused(status.NOT_FOUND)
    call.give("pbase", found.handle)
    call.give("psize", found.size)
