"""Nodes that are added to graphs by hand, and their parameters."""

from collections.abc import Callable
from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.driver.graph import add_node, copy_of, struct_bytes
from cuvet.device.driver.graph_body import GraphBody, Node
from cuvet.device.driver.graph_condition import conditional_node
from cuvet.device.driver.memory_copy import box_copy, fill
from cuvet.device.invocation import Invocation, Refused, tell, write
from cuvet.device.protocol import Steps

_PREFIX = "CU_GRAPH_NODE_TYPE_"
_ELEMENT_BYTES = (1, 2, 4)


# What a node does. ``prefix`` is the member of the struct that describes it, if it is not the struct itself.


def _kernel(call: Invocation, parameter: str, prefix: str = "") -> Node | None:
    if not call.member(parameter, f"{prefix}func") and not call.member(parameter, f"{prefix}kern"):
        return None
    return Node(f"{_PREFIX}KERNEL")


def _copy(call: Invocation, parameter: str, prefix: str = "") -> Node | None:
    return box_copy(call, parameter, True, prefix)


def _set(call: Invocation, parameter: str, prefix: str = "") -> Node | None:
    names = ("dst", "value", "elementSize", "width", "height", "pitch")
    address, value, element, width, rows, pitch = (call.member(parameter, prefix + name) for name in names)
    if element not in _ELEMENT_BYTES:
        return None
    return Node(f"{_PREFIX}MEMSET", lambda: fill(address, value, element, width * element, rows, pitch))


def _host(call: Invocation, parameter: str, prefix: str = "") -> Node | None:
    function, data = call.member(parameter, f"{prefix}fn"), call.member(parameter, f"{prefix}userData")
    return Node(f"{_PREFIX}HOST", host=(function, data)) if function else None


def _child(call: Invocation, graph: int) -> Node:
    handle = call.process.handles.issue(Kind.GRAPH)
    call.process.graphs[handle] = copy_of(call, call.process.graphs.get(graph, GraphBody()))
    return Node(f"{_PREFIX}GRAPH", child=handle)


# Adding them.


def _add(call: Invocation, node: Node | None) -> int:
    if node is None:
        return status.INVALID_VALUE
    node.parameters = _described(call)
    return add_node(call, node)


Describe = Callable[[Invocation, str], Node | None]


def _add_described(call: Invocation, describe: Describe) -> int:
    return _add(call, describe(call, _struct(call)))


cuGraphAddKernelNode = partial(_add_described, describe=_kernel)
cuGraphAddMemcpyNode = partial(_add_described, describe=_copy)
cuGraphAddMemsetNode = partial(_add_described, describe=_set)
cuGraphAddHostNode = partial(_add_described, describe=_host)
_STRUCTS = ("nodeParams", "copyParams", "memsetParams")


def _struct(call: Invocation) -> str:
    """The parameter that describes the node."""
    return next(name for name in _STRUCTS if name in call.entry_point.index)


def _described(call: Invocation) -> bytes:
    """The struct that describes the call's node: CUgraphNodeParams has it inside."""
    name = _struct(call)
    data = struct_bytes(call, name)
    if call.entry_point.parameters[call.entry_point.index[name]].pointee != "CUgraphNodeParams":
        return data
    _, prefix = _DESCRIBED.get(_kind(call), (None, ""))
    if not prefix:
        return b""
    offset, size, _ = catalog().field("CUgraphNodeParams", prefix.rstrip("."))
    return data[offset : offset + size]


def _kind(call: Invocation) -> str:
    """``KERNEL``: the type of the node that CUgraphNodeParams describes."""
    kinds = {number: name for name, number in catalog().enumerations["CUgraphNodeType"].items()}
    return kinds.get(call.member("nodeParams", "type"), "").removeprefix(_PREFIX)


def cuGraphAddEmptyNode(call: Invocation) -> int:
    return add_node(call, Node(f"{_PREFIX}EMPTY"))


def cuGraphAddChildGraphNode(call: Invocation) -> int:
    return add_node(call, _child(call, call["childGraph"]))


def _event_node(kind: str, event: int) -> Node:
    return Node(f"{_PREFIX}{kind}", parameters=event.to_bytes(8, "little"))


def _add_event(call: Invocation, kind: str) -> int:
    return add_node(call, _event_node(kind, call["event"]))


cuGraphAddEventRecordNode = partial(_add_event, kind="EVENT_RECORD")
cuGraphAddEventWaitNode = partial(_add_event, kind="WAIT_EVENT")

_DESCRIBED = {
    "KERNEL": (_kernel, "kernel."),
    "MEMCPY": (_copy, "memcpy.copyParams."),
    "MEMSET": (_set, "memset."),
    "HOST": (_host, "host."),
}
_EVENTS = {"WAIT_EVENT": "eventWait.event", "EVENT_RECORD": "eventRecord.event"}
"""Where CUgraphNodeParams holds the event of a node of that type."""


def cuGraphAddNode(call: Invocation) -> Steps[int]:
    kind = _kind(call)
    if kind in _DESCRIBED:
        describe, prefix = _DESCRIBED[kind]
        return _add(call, describe(call, "nodeParams", prefix))
    if kind == "GRAPH":
        return _add(call, _child(call, call.member("nodeParams", "graph.graph")))
    if kind == "CONDITIONAL":
        return (yield from conditional_node(call))
    if kind in _EVENTS:
        return add_node(call, _event_node(kind, call.member("nodeParams", _EVENTS[kind])))
    if kind == "EMPTY":
        return cuGraphAddEmptyNode(call)
    yield from tell(call.process, f"cuGraphAddNode of type {kind or 'unknown'} is not emulated")
    return status.NOT_SUPPORTED


# Their parameters.


def _parameters(call: Invocation) -> Steps[None]:
    node = call.known(call.process.nodes, "hNode", status.INVALID_VALUE)
    room = call.entry_point.parameters[call.entry_point.index["nodeParams"]].pointee_bytes
    yield from write(call["nodeParams"], node.parameters[:room])


cuGraphKernelNodeGetParams = _parameters
cuGraphMemcpyNodeGetParams = _parameters
cuGraphMemsetNodeGetParams = _parameters
cuGraphHostNodeGetParams = _parameters


def _named(call: Invocation) -> Node | None:
    """The node ``hNode`` of the graph, or of the executable graph if the call names one."""
    return _in_exec(call) if "hGraphExec" in call.entry_point.index else call.process.nodes.get(call["hNode"])


def _change(call: Invocation, changed: Node | None) -> int:
    """Give the node the work of ``changed``."""
    node = _named(call)
    if node is None or changed is None or node.type != changed.type:
        return status.INVALID_VALUE
    node.action, node.host = changed.action, changed.host
    node.parameters = _described(call)
    return status.SUCCESS


def _in_exec(call: Invocation) -> Node | None:
    """The node of the executable graph that has the name of ``hNode``."""
    body = call.process.graphs.get(call["hGraphExec"], GraphBody())
    return next((found for found in body.nodes if found.handle == call["hNode"]), None)


def _change_any(call: Invocation) -> int:
    describe, prefix = _DESCRIBED.get(_kind(call), (None, ""))
    return _change(call, describe(call, "nodeParams", prefix)) if describe else status.INVALID_VALUE


cuGraphNodeSetParams = cuGraphExecNodeSetParams = _change_any

_CAN_BE_DISABLED = {f"{_PREFIX}KERNEL", f"{_PREFIX}MEMCPY", f"{_PREFIX}MEMSET"}
"""The documentation of cuGraphNodeSetEnabled names these."""


def cuGraphNodeSetEnabled(call: Invocation) -> None:
    node = _in_exec(call)
    if node is None or node.type not in _CAN_BE_DISABLED:
        raise Refused(status.INVALID_VALUE)
    node.enabled = bool(call["isEnabled"] & 0xFFFFFFFF)


def cuGraphNodeGetEnabled(call: Invocation) -> None:
    node = _in_exec(call)
    if node is None or node.type not in _CAN_BE_DISABLED or not call["isEnabled"]:
        raise Refused(status.INVALID_VALUE)
    call.give("isEnabled", int(node.enabled))


def _change_described(call: Invocation, describe: Describe) -> int:
    return _change(call, describe(call, _struct(call)))


cuGraphKernelNodeSetParams = cuGraphExecKernelNodeSetParams = partial(_change_described, describe=_kernel)
cuGraphMemcpyNodeSetParams = cuGraphExecMemcpyNodeSetParams = partial(_change_described, describe=_copy)
cuGraphMemsetNodeSetParams = cuGraphExecMemsetNodeSetParams = partial(_change_described, describe=_set)
cuGraphHostNodeSetParams = cuGraphExecHostNodeSetParams = partial(_change_described, describe=_host)


# Their events.


def _event_of(call: Invocation, kind: str) -> None:
    node = _named(call)
    if node is None or node.type != f"{_PREFIX}{kind}" or not call["event_out"]:
        raise Refused(status.INVALID_VALUE)
    call.give("event_out", int.from_bytes(node.parameters, "little"))


def _set_event(call: Invocation, kind: str) -> None:
    node = _named(call)
    if node is None or node.type != f"{_PREFIX}{kind}":
        raise Refused(status.INVALID_VALUE)
    node.parameters = call["event"].to_bytes(8, "little")


cuGraphEventRecordNodeGetEvent = partial(_event_of, kind="EVENT_RECORD")
cuGraphEventWaitNodeGetEvent = partial(_event_of, kind="WAIT_EVENT")
cuGraphEventRecordNodeSetEvent = cuGraphExecEventRecordNodeSetEvent = partial(_set_event, kind="EVENT_RECORD")
cuGraphEventWaitNodeSetEvent = cuGraphExecEventWaitNodeSetEvent = partial(_set_event, kind="WAIT_EVENT")
