"""Memory that graphs allocate and free, in nodes of their own."""

from functools import partial

from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device.driver.graph import add_node, captured, enqueue
from cuvet.device.driver.graph_body import ALLOC, FREE, Node
from cuvet.device.driver.memory import free, in_order
from cuvet.device.driver.memory_pool import current_pool, pieces
from cuvet.device.invocation import Invocation, read, require, write, write_word
from cuvet.device.protocol import Steps

_PARAMETERS = "CUDA_MEM_ALLOC_NODE_PARAMS"


# Nodes.


def alloc_node(call: Invocation, parameters: bytes, address: int, size: int) -> Node:
    """The node that allocates memory at an address that is known since it was made."""
    device = call.current_device()

    def run() -> None:
        call.process.graph_memory[address] = size, device
        _raise_to(call, device, _needed(call, device))

    return Node(ALLOC, run, parameters)


def free_node(call: Invocation, address: int) -> Node:
    def run() -> None:
        call.process.graph_memory.pop(address, None)

    return Node(FREE, run, address.to_bytes(8, "little"))


def _address(call: Invocation, size: int) -> Steps[int]:
    """The address is fixed when the node is made, and is the graph's. The device gives memory when the graph is launched; Refused if it
    has not that much left."""
    require(size <= call.process.machine.left(call.current_device(), call.process), status.OUT_OF_MEMORY)
    address = yield from call.process.device_memory.allocate(size)
    require(address, status.OUT_OF_MEMORY)
    call.process.graph_addresses.add(address)
    return address


def cuGraphAddMemAllocNode(call: Invocation) -> Steps[None]:
    size = call.member("nodeParams", "bytesize")
    address = yield from _address(call, size)
    yield from write_word(call["nodeParams"] + catalog().field(_PARAMETERS, "dptr")[0], address)
    told = catalog().pack(_PARAMETERS, {"dptr": address}, data=call.given("nodeParams"))
    add_node(call, alloc_node(call, told, address, size))


def cuGraphAddMemFreeNode(call: Invocation) -> None:
    require(call["dptr"] in call.process.graph_addresses)
    add_node(call, free_node(call, call["dptr"]))


def _describe(call: Invocation, kind: str, output: str) -> Steps[None]:
    node = call.known(call.process.nodes, "hNode", status.INVALID_VALUE)
    require(node.type == kind and call[output])
    yield from write(call[output], node.parameters)


cuGraphMemAllocNodeGetParams = partial(_describe, kind=ALLOC, output="params_out")
cuGraphMemFreeNodeGetParams = partial(_describe, kind=FREE, output="dptr_out")


# Stream-ordered allocations: while the stream is captured, they make nodes.


def cuMemAllocAsync(call: Invocation) -> Steps[None]:
    size = call["bytesize"]
    if captured(call) is None or not size:
        yield from in_order(call, current_pool(call, call.current_device()))
        return
    require(call["dptr"])
    address = yield from _address(call, size)
    call.give("dptr", address)
    yield from enqueue(call, alloc_node(call, _described(call, address, size), address, size))


def _described(call: Invocation, address: int, size: int) -> bytes:
    """CUDA_MEM_ALLOC_NODE_PARAMS of an allocation from the device's default pool."""
    kinds, places = catalog().enumerations["CUmemAllocationType"], catalog().enumerations["CUmemLocationType"]
    values = {
        "poolProps.allocType": kinds["CU_MEM_ALLOCATION_TYPE_PINNED"],
        "poolProps.location.type": places["CU_MEM_LOCATION_TYPE_DEVICE"],
        "poolProps.location.id": call.current_device(),
        "bytesize": size,
        "dptr": address,
    }
    return catalog().pack(_PARAMETERS, values)


def cuMemFreeAsync(call: Invocation) -> Steps[None]:
    address = call["dptr"]
    if address and captured(call) is not None:
        yield from enqueue(call, free_node(call, address))
    elif address:
        require((yield from free(call, address)))


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
    yield from write_word(call["value"], call.get("graph memory", call["device"], call["attr"]))


def cuDeviceSetGraphMemAttribute(call: Invocation) -> Steps[None]:
    """Only the high watermarks, and only to what is there now, for which 0 stands."""
    require(not any((yield from read(call["value"], 8))))
    name = catalog().enumerator("CUgraphMem_attribute", call["attr"], "CU_GRAPH_MEM_ATTR_")
    current = call.process.attributes.get(_key(call["device"], name.replace("HIGH", "CURRENT")), 0)
    call.set("graph memory", call["device"], current, call["attr"])


def cuDeviceGraphMemTrim(call: Invocation) -> None:
    for name in ("USED_MEM_CURRENT", "RESERVED_MEM_CURRENT"):
        call.process.attributes[_key(call["device"], name)] = _needed(call, call["device"])
