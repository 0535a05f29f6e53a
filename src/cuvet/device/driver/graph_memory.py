"""Memory that graphs allocate and free, in nodes of their own."""

from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.driver.graph import add_node, captured, enqueue, struct_bytes
from cuvet.device.driver.graph_body import ALLOC, FREE, Node
from cuvet.device.driver.memory import free, in_order
from cuvet.device.driver.memory_pool import current_pool, pieces
from cuvet.device.invocation import Invocation, Refused, read, write, write_word
from cuvet.device.protocol import Steps

_PARAMETERS = "CUDA_MEM_ALLOC_NODE_PARAMS"


# Nodes.


def alloc_node(call: Invocation, parameters: bytes, address: int, size: int) -> Node:
    """The node that allocates memory at an address that is known since it was made."""
    device = call.current_device()

    def run() -> Steps[int]:
        call.process.graph_memory[address] = size, device
        _raise_to(call, device, _needed(call, device))
        return status.SUCCESS
        yield

    return Node(ALLOC, run, parameters)


def free_node(call: Invocation, address: int) -> Node:
    def run() -> Steps[int]:
        call.process.graph_memory.pop(address, None)
        return status.SUCCESS
        yield

    return Node(FREE, run, address.to_bytes(8, "little"))


def _address(call: Invocation, size: int) -> Steps[int]:
    """The address is fixed when the node is made, and is the graph's. The device gives memory when the graph is launched; 0 if it has not
    that much left."""
    if size > call.process.machine.left(call.current_device()):
        return 0
    address = yield from call.process.device_memory.allocate(size)
    if address:
        call.process.graph_addresses.add(address)
    return address


def cuGraphAddMemAllocNode(call: Invocation) -> Steps[int]:
    size = call.member("nodeParams", "bytesize")
    address = yield from _address(call, size)
    if not address:
        return status.OUT_OF_MEMORY
    offset, _, _ = catalog().field(_PARAMETERS, "dptr")
    yield from write_word(call["nodeParams"] + offset, address)
    given = struct_bytes(call, "nodeParams")
    told = given[:offset] + address.to_bytes(8, "little") + given[offset + 8 :]
    return add_node(call, alloc_node(call, told, address, size))


def cuGraphAddMemFreeNode(call: Invocation) -> int:
    if call["dptr"] not in call.process.graph_addresses:
        return status.INVALID_VALUE
    return add_node(call, free_node(call, call["dptr"]))


def cuGraphMemAllocNodeGetParams(call: Invocation) -> Steps[int]:
    return (yield from _describe(call, ALLOC, "params_out"))


def cuGraphMemFreeNodeGetParams(call: Invocation) -> Steps[int]:
    return (yield from _describe(call, FREE, "dptr_out"))


def _describe(call: Invocation, kind: str, output: str) -> Steps[int]:
    node = call.process.nodes.get(call["hNode"])
    if node is None or node.type != kind or not call[output]:
        return status.INVALID_VALUE
    yield from write(call[output], node.parameters)
    return status.SUCCESS


# Stream-ordered allocations: while the stream is captured, they make nodes.


def cuMemAllocAsync(call: Invocation) -> Steps[int]:
    if captured(call) is None or not call["bytesize"]:
        return (yield from in_order(call, current_pool(call, call.current_device())))
    if not call["dptr"]:
        return status.INVALID_VALUE
    size = call["bytesize"]
    address = yield from _address(call, size)
    if not address:
        return status.OUT_OF_MEMORY
    call.give("dptr", address)
    return (yield from enqueue(call, alloc_node(call, _described(call, address, size), address, size)))


def _described(call: Invocation, address: int, size: int) -> bytes:
    """CUDA_MEM_ALLOC_NODE_PARAMS of an allocation from the device's default pool."""
    data = bytearray(catalog().structs[_PARAMETERS].bytes)
    kinds, places = catalog().enumerations["CUmemAllocationType"], catalog().enumerations["CUmemLocationType"]
    values = {
        "poolProps.allocType": kinds["CU_MEM_ALLOCATION_TYPE_PINNED"],
        "poolProps.location.type": places["CU_MEM_LOCATION_TYPE_DEVICE"],
        "poolProps.location.id": call.current_device(),
        "bytesize": size,
        "dptr": address,
    }
    for name, value in values.items():
        offset, width, _ = catalog().field(_PARAMETERS, name)
        data[offset : offset + width] = value.to_bytes(width, "little")
    return bytes(data)


def cuMemFreeAsync(call: Invocation) -> Steps[int]:
    address = call["dptr"]
    if not address:
        return status.SUCCESS
    if captured(call) is not None:
        return (yield from enqueue(call, free_node(call, address)))
    return status.SUCCESS if (yield from free(call, address)) else status.INVALID_VALUE


# What a device gave to graphs. It is given back when the program says so (NVIDIA H200, driver 580.159, CUDA 13.0).


def _needed(call: Invocation, device: int) -> int:
    """Bytes of the pieces that hold what graphs have allocated there and not freed."""
    held = sum(size for size, on in call.process.graph_memory.values() if on == device)
    return pieces(held)


def _key(device: int, name: str) -> tuple[str, int, int]:
    return "graph memory", device, catalog().enumerations["CUgraphMem_attribute"][f"CU_GRAPH_MEM_ATTR_{name}"]


def _raise_to(call: Invocation, device: int, size: int) -> None:
    values = call.process.attributes
    for name in ("USED_MEM_CURRENT", "RESERVED_MEM_CURRENT", "USED_MEM_HIGH", "RESERVED_MEM_HIGH"):
        values[_key(device, name)] = max(values.get(_key(device, name), 0), size)


def cuDeviceGetGraphMemAttribute(call: Invocation) -> Steps[None]:
    value = call.process.attributes.get(("graph memory", call["device"], call["attr"]), 0)
    yield from write_word(call["value"], value)


def cuDeviceSetGraphMemAttribute(call: Invocation) -> Steps[None]:
    """Only the high watermarks, and only to what is there now, for which 0 stands."""
    if any((yield from read(call["value"], 8))):
        raise Refused(status.INVALID_VALUE)
    names = {number: name for name, number in catalog().enumerations["CUgraphMem_attribute"].items()}
    current = names[call["attr"]].removeprefix("CU_GRAPH_MEM_ATTR_").replace("HIGH", "CURRENT")
    values = call.process.attributes
    values["graph memory", call["device"], call["attr"]] = values.get(_key(call["device"], current), 0)


def cuDeviceGraphMemTrim(call: Invocation) -> None:
    for name in ("USED_MEM_CURRENT", "RESERVED_MEM_CURRENT"):
        call.process.attributes[_key(call["device"], name)] = _needed(call, call["device"])
