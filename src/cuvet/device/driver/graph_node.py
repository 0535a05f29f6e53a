"""Nodes that are added to graphs by hand, and their parameters."""

from collections.abc import Callable
from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device.driver.graph import add_node, alike, body_of, copy_of, frozen
from cuvet.device.driver.graph_body import GraphBody, Node
from cuvet.device.driver.graph_condition import conditional_node
from cuvet.device.driver.memory_copy import box_copy, fill
from cuvet.device.driver.user_object import dropped
from cuvet.device.invocation import Invocation, Refused, require, write
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
    return Node(f"{_PREFIX}MEMSET", lambda: fill(call, address, value, element, width * element, rows, pitch))


def _host(call: Invocation, parameter: str, prefix: str = "") -> Node | None:
    function, data = call.member(parameter, f"{prefix}fn"), call.member(parameter, f"{prefix}userData")
    return Node(f"{_PREFIX}HOST", host=(function, data)) if function else None


def _child(call: Invocation, graph: int) -> Node:
    handle = call.process.handles.issue(Kind.GRAPH)
    call.process.graphs[handle] = copy_of(call, call.process.graphs.get(graph, GraphBody()))
    return Node(f"{_PREFIX}GRAPH", child=handle)


# Adding them.


Describe = Callable[[Invocation, str], Node | None]


def _add(call: Invocation, node: Node | None) -> None:
    if node is None:
        raise Refused(status.INVALID_VALUE)
    node.parameters = _described(call)
    add_node(call, node)


def _add_described(call: Invocation, describe: Describe) -> None:
    _add(call, describe(call, _struct(call)))


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
    data = call.given(name)
    if call.entry_point.parameters[call.entry_point.index[name]].pointee != "CUgraphNodeParams":
        return data
    _, prefix = _DESCRIBED.get(_kind(call), (None, ""))
    if not prefix:
        return b""
    offset, size, _ = catalog().field("CUgraphNodeParams", prefix.rstrip("."))
    return data[offset : offset + size]


def _kind(call: Invocation) -> str:
    """``KERNEL``: the type of the node that CUgraphNodeParams describes."""
    return catalog().enumerator("CUgraphNodeType", call.member("nodeParams", "type"), _PREFIX)


def cuGraphAddEmptyNode(call: Invocation) -> None:
    add_node(call, Node(f"{_PREFIX}EMPTY"))


def cuGraphAddChildGraphNode(call: Invocation) -> None:
    add_node(call, _child(call, call["childGraph"]))


def _event_node(kind: str, event: int) -> Node:
    return Node(f"{_PREFIX}{kind}", parameters=event.to_bytes(8, "little"))


def _add_event(call: Invocation, kind: str) -> None:
    add_node(call, _event_node(kind, call["event"]))


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


def cuGraphAddNode(call: Invocation) -> Steps[None]:
    kind = _kind(call)
    if kind in _DESCRIBED:
        describe, prefix = _DESCRIBED[kind]
        _add(call, describe(call, "nodeParams", prefix))
    elif kind == "GRAPH":
        _add(call, _child(call, call.member("nodeParams", "graph.graph")))
    elif kind == "CONDITIONAL":
        yield from conditional_node(call)
    elif kind in _EVENTS:
        add_node(call, _event_node(kind, call.member("nodeParams", _EVENTS[kind])))
    elif kind == "EMPTY":
        cuGraphAddEmptyNode(call)
    else:
        yield from call.not_emulated(f"cuGraphAddNode of type {kind or 'unknown'}")


# Their parameters.


def _parameters(call: Invocation) -> Steps[None]:
    node = call.known(call.process.nodes, "hNode", status.INVALID_VALUE)
    room = call.entry_point.parameters[call.entry_point.index["nodeParams"]].pointee_bytes
    yield from write(call["nodeParams"], node.parameters[:room])


cuGraphKernelNodeGetParams = cuGraphMemcpyNodeGetParams = _parameters
cuGraphMemsetNodeGetParams = cuGraphHostNodeGetParams = _parameters


def _named(call: Invocation, *types: str) -> Node:
    """The node ``hNode`` of the graph, or of the executable graph if the call names one. Refused if it is none of these types."""
    nodes = call.process.nodes
    if "hGraphExec" in call.entry_point.index:
        nodes = {node.handle: node for node in body_of(call, "hGraphExec").nodes}
    node = call.known(nodes, "hNode", status.INVALID_VALUE)
    require(node.type.removeprefix(_PREFIX) in types)
    return node


def _change(call: Invocation, changed: Node | None) -> None:
    """Give the node the work of ``changed``."""
    if changed is None:
        raise Refused(status.INVALID_VALUE)
    node = _named(call, changed.type.removeprefix(_PREFIX))
    node.action, node.host = changed.action, changed.host
    node.parameters = _described(call)


def _change_any(call: Invocation) -> None:
    describe, prefix = _DESCRIBED.get(_kind(call), (None, ""))
    _change(call, describe(call, "nodeParams", prefix) if describe else None)


cuGraphNodeSetParams = cuGraphExecNodeSetParams = _change_any

_CAN_BE_DISABLED = ("KERNEL", "MEMCPY", "MEMSET")
"""The documentation of cuGraphNodeSetEnabled names these."""


def cuGraphNodeSetEnabled(call: Invocation) -> None:
    _named(call, *_CAN_BE_DISABLED).enabled = bool(call["isEnabled"] & 0xFFFFFFFF)


def cuGraphNodeGetEnabled(call: Invocation) -> None:
    require(call["isEnabled"])
    call.give("isEnabled", int(_named(call, *_CAN_BE_DISABLED).enabled))


def _change_described(call: Invocation, describe: Describe) -> None:
    _change(call, describe(call, _struct(call)))


cuGraphKernelNodeSetParams = cuGraphExecKernelNodeSetParams = partial(_change_described, describe=_kernel)
cuGraphMemcpyNodeSetParams = cuGraphExecMemcpyNodeSetParams = partial(_change_described, describe=_copy)
cuGraphMemsetNodeSetParams = cuGraphExecMemsetNodeSetParams = partial(_change_described, describe=_set)
cuGraphHostNodeSetParams = cuGraphExecHostNodeSetParams = partial(_change_described, describe=_host)


def cuGraphExecChildGraphNodeSetParams(call: Invocation) -> Steps[None]:
    graphs, child = call.process.graphs, _named(call, "GRAPH").child
    before, graph = graphs[child], body_of(call, "childGraph")
    require(alike(before, graph), status.GRAPH_EXEC_UPDATE_FAILURE)
    graphs[child] = frozen(call, graph)
    yield from dropped(call, before)


# Their events.


def _event_of(call: Invocation, kind: str) -> None:
    require(call["event_out"])
    call.give("event_out", int.from_bytes(_named(call, kind).parameters, "little"))


def _set_event(call: Invocation, kind: str) -> None:
    _named(call, kind).parameters = call["event"].to_bytes(8, "little")


cuGraphEventRecordNodeGetEvent = partial(_event_of, kind="EVENT_RECORD")
cuGraphEventWaitNodeGetEvent = partial(_event_of, kind="WAIT_EVENT")
cuGraphEventRecordNodeSetEvent = cuGraphExecEventRecordNodeSetEvent = partial(_set_event, kind="EVENT_RECORD")
cuGraphEventWaitNodeSetEvent = cuGraphExecEventWaitNodeSetEvent = partial(_set_event, kind="WAIT_EVENT")
