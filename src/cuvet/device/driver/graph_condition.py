"""Conditional nodes. Kernels do not run, so a condition keeps the value that it was made with. What the calls return: NVIDIA H200,
driver 580.159, CUDA 13.0."""

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device.driver.graph import add_node
from cuvet.device.driver.graph_body import GraphBody, Node
from cuvet.device.invocation import Invocation, require, write_word
from cuvet.device.protocol import Steps

_ASSIGN_DEFAULT = 1
_IF, _WHILE, _SWITCH = range(3)  # CUgraphConditionalNodeType
_MOST_BODIES = {_IF: 2, _WHILE: 1, _SWITCH: 1 << 16}


def cuGraphConditionalHandleCreate(call: Invocation) -> None:
    """The conditions of a graph are numbered from 1. The context must be named."""
    body = call.known(call.process.graphs, "hGraph", status.INVALID_VALUE)
    require(call["pHandle_out"])
    require(call["ctx"], status.INVALID_CONTEXT)
    value = call["defaultLaunchValue"] & 0xFFFFFFFF if call["flags"] & _ASSIGN_DEFAULT else 0
    body.conditions.append(value)
    call.give("pHandle_out", len(body.conditions))


def conditional_node(call: Invocation) -> Steps[None]:
    """Add the node that CUgraphNodeParams describes, and tell the program its empty bodies. Nodes in these may have conditions that were
    made for the graph around them (cuda.core 1.2.2 builds such, which runs on GPUs)."""

    def member(name: str) -> int:
        return call.member("nodeParams", f"conditional.{name}")

    condition, kind, size = member("handle"), member("type"), member("size")
    require(member("ctx"), status.INVALID_CONTEXT)
    graph = call.known(call.process.graphs, "hGraph", status.INVALID_VALUE)
    require(0 < size <= _MOST_BODIES.get(kind, 0) and 0 < condition <= len(graph.conditions))
    require(condition not in graph.used_conditions)
    graph.used_conditions.add(condition)
    bodies = tuple(call.process.handles.issue(Kind.GRAPH, told=False) for _ in range(size))
    for body in bodies:
        call.process.graphs[body] = GraphBody(conditions=graph.conditions, used_conditions=graph.used_conditions)
    value = graph.conditions[condition - 1]
    runs = _taken(kind, size, value)
    node = Node("CU_GRAPH_NODE_TYPE_CONDITIONAL", None, call.given("nodeParams"), bodies=bodies, runs=runs)
    array = yield from call.constant(b"".join(body.to_bytes(8, "little") for body in bodies))
    offset, _, _ = catalog().field("CUgraphNodeParams", "conditional.phGraph_out")
    yield from write_word(call["nodeParams"] + offset, array)
    add_node(call, node)


def _taken(kind: int, size: int, value: int) -> tuple[int, int]:
    """From which to before which body a launch runs them. A loop that would begin runs once: nothing on the device would end it."""
    if kind == _IF:
        return (0, 1) if value else (1, size)
    if kind == _WHILE:
        return 0, int(value != 0)
    return value, value + 1
