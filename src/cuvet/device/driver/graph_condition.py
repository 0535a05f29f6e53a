"""Conditional nodes. Kernels do not run, so a condition keeps the value that it was made with. What the calls return: NVIDIA H200,
driver 580.159, CUDA 13.0."""

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.driver.graph import add_node, struct_bytes
from cuvet.device.driver.graph_body import GraphBody, Node
from cuvet.device.invocation import Invocation, Refused, write_word
from cuvet.device.protocol import Steps

_ASSIGN_DEFAULT = 1
_IF, _WHILE, _SWITCH = range(3)  # CUgraphConditionalNodeType
_MOST_BODIES = {_IF: 2, _WHILE: 1, _SWITCH: 1 << 16}


def cuGraphConditionalHandleCreate(call: Invocation) -> None:
    """The conditions of a graph are numbered from 1. The context must be named."""
    body = call.process.graphs.get(call["hGraph"])
    if body is None or not call["pHandle_out"]:
        raise Refused(status.INVALID_VALUE)
    if not call["ctx"]:
        raise Refused(status.INVALID_CONTEXT)
    value = call["defaultLaunchValue"] & 0xFFFFFFFF if call["flags"] & _ASSIGN_DEFAULT else 0
    body.conditions.append(value)
    call.give("pHandle_out", len(body.conditions))


def conditional_node(call: Invocation) -> Steps[int]:
    """Add the node that CUgraphNodeParams describes, and tell the program its empty bodies. Nodes in these may have conditions that were
    made for the graph around them (cuda.core 1.2.2 builds such, which runs on GPUs)."""

    def member(name: str) -> int:
        return call.member("nodeParams", f"conditional.{name}")

    graph, condition, kind, size = (
        call.process.graphs.get(call["hGraph"]),
        member("handle"),
        member("type"),
        member("size"),
    )
    if not member("ctx"):
        return status.INVALID_CONTEXT
    if graph is None or not 0 < size <= _MOST_BODIES.get(kind, 0) or not 0 < condition <= len(graph.conditions):
        return status.INVALID_VALUE
    if condition in graph.used_conditions:
        return status.INVALID_VALUE
    graph.used_conditions.add(condition)
    bodies = tuple(call.process.handles.issue(Kind.GRAPH, told=False) for _ in range(size))
    for body in bodies:
        call.process.graphs[body] = GraphBody(conditions=graph.conditions, used_conditions=graph.used_conditions)
    value = graph.conditions[condition - 1]
    parameters = struct_bytes(call, "nodeParams")
    node = Node("CU_GRAPH_NODE_TYPE_CONDITIONAL", None, parameters, bodies=bodies, runs=_taken(kind, size, value))
    array = yield from call.constant(b"".join(body.to_bytes(8, "little") for body in bodies))
    offset, _, _ = catalog().field("CUgraphNodeParams", "conditional.phGraph_out")
    yield from write_word(call["nodeParams"] + offset, array)
    return add_node(call, node)


def _taken(kind: int, size: int, value: int) -> tuple[int, int]:
    """From which to before which body a launch runs them. A loop that would begin runs once: nothing on the device would end it."""
    if kind == _IF:
        return (0, 1) if value else (1, size)
    if kind == _WHILE:
        return 0, int(value != 0)
    return value, value + 1
