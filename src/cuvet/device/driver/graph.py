"""Graphs: nodes that do when the graph is launched what the call would have done at once, and stream capture, which makes them."""

from collections.abc import Callable
from dataclasses import replace

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import status
from cuvet.device.driver.graph_body import MEMORY_NODES, GraphBody, Node
from cuvet.device.driver.user_object import dropped, shared
from cuvet.device.invocation import BadAddress, Invocation, Refused, do_nothing, path_of, write, write_word
from cuvet.device.protocol import Callback, Command, Op, Steps
from cuvet.model import Capture

# Capture.


def captured(call: Invocation) -> Capture | None:
    """The capture that the call's stream takes part in."""
    stream = call.model.stream_on(call.call)
    return call.model.capture_of(stream) if stream is not None else None


def captured_graph(call: Invocation, capture: Capture) -> int:
    """Handle of the graph that the capture makes."""
    process = call.process
    if capture not in process.captures:
        handle = process.capture_into.pop(call.queue(capture.origin.handle), 0) or process.handles.issue(Kind.GRAPH)
        process.captures[capture] = handle
        process.graphs.setdefault(handle, GraphBody())
    return process.captures[capture]


def enqueue(call: Invocation, node: Node, queue: int | None = None) -> Steps[int]:
    """Do the node's work now, or keep it for the graph if the stream is being captured. ``queue``: of the stream, if it is not
    the parameter ``hStream``. Calls without a stream cannot be captured."""
    capture = captured(call)
    if queue is None:
        queue = call.queue(call["hStream"] if "hStream" in call.entry_point.index else 0)
    if capture is None:
        return (yield from _do(call, node, queue))
    body = call.process.graphs[captured_graph(call, capture)]
    _add(call, body, node, body.tips.get(queue, []))
    body.tips[queue] = [node]
    return status.SUCCESS


def _do(call: Invocation, node: Node, queue: int) -> Steps[int]:
    """The node's work, on a stream's queue."""
    if node.host is not None:
        yield Command(Op.CALL_HOST, (queue, Callback.HOST_FUNCTION, *node.host))
        return status.SUCCESS
    return (yield from node.action()) if node.action else status.SUCCESS


def _add(call: Invocation, body: GraphBody, node: Node, after: list[Node]) -> None:
    node.handle = call.process.handles.issue(Kind.GRAPH_NODE)
    node.after = after
    body.nodes.append(node)
    call.process.nodes[node.handle] = node


# Graphs.


def cuGraphCreate(call: Invocation) -> None:
    call.process.graphs[call.issue("phGraph", Kind.GRAPH)] = GraphBody()


def cuGraphDestroy(call: Invocation) -> Steps[None]:
    yield from dropped(call, call.process.graphs.pop(call["hGraph"], None))


def cuGraphClone(call: Invocation) -> None:
    handle = call.issue("phGraphClone", Kind.GRAPH)
    call.process.graphs[handle] = copy_of(call, call.process.graphs.get(call["originalGraph"], GraphBody()))


def copy_of(call: Invocation, body: GraphBody) -> GraphBody:
    copies: dict[Node, Node] = {}
    copy = GraphBody()
    for node in body.in_order():
        copies[node] = replace(node, after=[], original=node, child=_copied(call, node.child, copy_of))
        _add(call, copy, copies[node], [copies[other] for other in node.after])
    copy.user_objects = dict(body.user_objects)
    return shared(call, copy)


def _copied(call: Invocation, handle: int, copy: Callable[[Invocation, GraphBody], GraphBody]) -> int:
    """Handle of a copy of a node's graph; 0 if it has none."""
    if not handle:
        return 0
    made = call.process.handles.issue(Kind.GRAPH, told=False)
    call.process.graphs[made] = copy(call, call.process.graphs.get(handle, GraphBody()))
    return made


def _instantiate(call: Invocation) -> None:
    handle = call.issue("phGraphExec", Kind.GRAPH_EXEC)
    call.process.graphs[handle] = _frozen(call, call.process.graphs.get(call["hGraph"], GraphBody()))
    call.process.attributes["graph flags", handle, 0] = call["flags"] if "flags" in call.entry_point.index else 0


cuGraphInstantiate = cuGraphInstantiateWithFlags = cuGraphInstantiateWithParams = _instantiate


def _frozen(call: Invocation, body: GraphBody) -> GraphBody:
    """The nodes in the order in which they run; they keep their handles, by which an executable graph's nodes are named. The graphs of
    nodes are copied too: the executable graph outlives them."""

    nodes = [
        replace(
            node,
            after=[],
            child=_copied(call, node.child, _frozen),
            bodies=tuple(_copied(call, inner, _frozen) for inner in node.bodies),
        )
        for node in body.in_order()
    ]
    return shared(call, GraphBody(nodes, user_objects=dict(body.user_objects)))


def cuGraphExecDestroy(call: Invocation) -> Steps[None]:
    yield from dropped(call, call.process.graphs.pop(call["hGraphExec"], None))


def cuGraphExecGetFlags(call: Invocation) -> None:
    call.give("flags", call.process.attributes.get(("graph flags", call["hGraphExec"], 0), 0))


def cuGraphExecUpdate(call: Invocation) -> Steps[None]:
    before, graph = (call.process.graphs.get(call[name], GraphBody()) for name in ("hGraphExec", "hGraph"))
    kinds, wanted = ([node.type for node in body.in_order()] for body in (before, graph))
    name = (
        "SUCCESS"
        if kinds == wanted
        else "ERROR_" + ("NODE_TYPE_CHANGED" if len(kinds) == len(wanted) else "TOPOLOGY_CHANGED")
    )
    if call["resultInfo"]:
        result = catalog().enumerations["CUgraphExecUpdateResult"][f"CU_GRAPH_EXEC_UPDATE_{name}"]
        size = catalog().structs["CUgraphExecUpdateResultInfo"].bytes
        yield from write(call["resultInfo"], result.to_bytes(4, "little").ljust(size, b"\0"))
    if kinds != wanted:
        raise Refused(status.GRAPH_EXEC_UPDATE_FAILURE)
    call.process.graphs[call["hGraphExec"]] = _frozen(call, graph)
    yield from dropped(call, before)


cuGraphUpload = do_nothing


def cuGraphLaunch(call: Invocation) -> Steps[int]:
    body, queue = call.process.graphs.get(call["hGraph"], GraphBody()), call.queue(call["hStream"])
    return (yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_GRAPH", lambda: _run(call, body, queue))))


def _run(call: Invocation, body: GraphBody, queue: int) -> Steps[int]:
    for node in body.in_order():
        for inner in (node.child, *node.bodies[slice(*node.runs)]):
            yield from _run(call, call.process.graphs.get(inner, GraphBody()), queue)
        if node.enabled:
            yield from _do(call, node, queue)
    return status.SUCCESS


def cuGraphGetId(call: Invocation) -> None:
    call.give("graphId", call["hGraph"] & 0xFFFFFFFF)


def cuGraphDebugDotPrint(call: Invocation) -> None:
    """Nodes and edges, as an H200 wrote them of empty nodes (driver 580.159, CUDA 13.0); what the flags add is left out."""
    number = call["hGraph"] & 0xFFFFFFFF
    nodes = call.process.graphs.get(call["hGraph"], GraphBody()).nodes
    names = {node: f'"graph_{number}_node_{position}"' for position, node in enumerate(nodes)}
    lines = ["digraph dot {", f"subgraph cluster_{number} {{", f'label="graph_{number}" graph[style="dashed"];']
    for position, (node, name) in enumerate(names.items()):
        label = f"{position}\n{node.type.removeprefix('CU_GRAPH_NODE_TYPE_')}\n"
        lines += [f'{name}[style="solid" shape="rectangle" label="{label}"];', ""]
    lines += [f"{names[before]} -> {name};" for node, name in names.items() for before in node.after if before in names]
    try:
        path_of(call, "path").write_text("\n".join([*lines, "}", "}", ""]), encoding="utf-8")
    except OSError as error:
        raise Refused(status.OPERATING_SYSTEM) from error


# Nodes.


def struct_bytes(call: Invocation, parameter: str) -> bytes:
    """What the pointer parameter points to, as far as it was read; nothing if it is NULL."""
    return call.call.inputs.get(call.entry_point.index[parameter], b"")


def nodes_of(call: Invocation, array: str, count: str) -> list[Node] | None:
    """The nodes whose handles the array parameter holds; None if one of them is none."""
    handles = call.call.inputs.get(call.entry_point.index[array], b"")
    found = []
    for position in range(call[count]):
        node = call.process.nodes.get(int.from_bytes(handles[8 * position : 8 * position + 8], "little"))
        if node is None:
            return None
        found.append(node)
    return found


def add_node(call: Invocation, node: Node) -> int:
    """Add a node to the graph ``hGraph`` behind its ``dependencies``."""
    body, after = call.process.graphs.get(call["hGraph"]), nodes_of(call, "dependencies", "numDependencies")
    if body is None or after is None:
        return status.INVALID_VALUE
    _add(call, body, node, after)
    call.give("phGraphNode", node.handle)
    return status.SUCCESS


def cuGraphDestroyNode(call: Invocation) -> Steps[None]:
    """Not from a graph with memory nodes (NVIDIA H200, driver 580.159, CUDA 13.0), as the model knows of nodes that calls added."""
    node = call.known(call.process.nodes, "hNode", status.INVALID_VALUE)
    if any(
        node in body.nodes and any(other.type in MEMORY_NODES for other in body.nodes)
        for body in call.process.graphs.values()
    ):
        raise Refused(status.NOT_SUPPORTED)
    for body in call.process.graphs.values():
        if node in body.nodes:
            body.nodes.remove(node)
        for other in body.nodes:
            other.after = [before for before in other.after if before is not node]
    yield from dropped(call, GraphBody([node]))


def cuGraphNodeFindInClone(call: Invocation) -> None:
    node, clone = (
        call.process.nodes.get(call["hOriginalNode"]),
        call.process.graphs.get(call["hClonedGraph"], GraphBody()),
    )
    found = next((copy for copy in clone.nodes if node is not None and copy.original is node), None)
    if found is None:
        raise Refused(status.INVALID_VALUE)
    call.give("phNode", found.handle)


def cuGraphNodeGetType(call: Invocation) -> None:
    node = call.known(call.process.nodes, "hNode", status.INVALID_VALUE)
    call.give("type", catalog().enumerations["CUgraphNodeType"][node.type])


def cuGraphChildGraphNodeGetGraph(call: Invocation) -> None:
    node = call.process.nodes.get(call["hNode"])
    if node is None or not node.child:
        raise Refused(status.INVALID_VALUE)
    call.give("phGraph", node.child)


def cuGraphGetNodes(call: Invocation) -> Steps[int]:
    body = call.process.graphs.get(call["hGraph"], GraphBody())
    return (yield from _list(call, "nodes", "numNodes", body.nodes))


def cuGraphGetRootNodes(call: Invocation) -> Steps[int]:
    body = call.process.graphs.get(call["hGraph"], GraphBody())
    return (yield from _list(call, "rootNodes", "numRootNodes", [node for node in body.nodes if not node.after]))


def cuGraphNodeGetDependencies(call: Invocation) -> Steps[int]:
    node = call.process.nodes.get(call["hNode"])
    return (yield from _list(call, "dependencies", "numDependencies", node.after if node else []))


def cuGraphNodeGetDependentNodes(call: Invocation) -> Steps[int]:
    node = call.process.nodes.get(call["hNode"])
    owner = next((body for body in call.process.graphs.values() if node in body.nodes), GraphBody())
    return (yield from _list(call, "dependentNodes", "numDependentNodes", [n for n in owner.nodes if node in n.after]))


def _list(call: Invocation, array: str, count: str, nodes: list[Node]) -> Steps[int]:
    room = (yield from _size_at(call[count])) if call[array] else 0
    for position, node in enumerate(nodes[:room]):
        yield from write_word(call[array] + 8 * position, node.handle)
    for position in range(len(nodes), room):
        yield from write_word(call[array] + 8 * position, 0)
    call.hand_out(array, [node.handle for node in nodes[:room]])
    if "edgeData" in call.entry_point.index and call["edgeData"]:
        yield from write(call["edgeData"], bytes(8 * min(room, len(nodes))))
    call.give(count, len(nodes))
    return status.SUCCESS


def _size_at(address: int) -> Steps[int]:
    answer = yield Command(Op.READ, (address, 8))
    if answer.error:
        raise BadAddress(hex(address))
    return answer.word


def cuGraphGetEdges(call: Invocation) -> Steps[None]:
    body = call.process.graphs.get(call["hGraph"], GraphBody())
    edges = [(before, node) for node in body.nodes for before in node.after]
    room = (yield from _size_at(call["numEdges"])) if call["from"] else 0
    for position, (before, node) in enumerate(edges[:room]):
        yield from write_word(call["from"] + 8 * position, before.handle)
        yield from write_word(call["to"] + 8 * position, node.handle)
    for end, nodes in (("from", [before for before, _ in edges]), ("to", [node for _, node in edges])):
        call.hand_out(end, [node.handle for node in nodes[:room]])
    if call["edgeData"]:
        yield from write(call["edgeData"], bytes(8 * min(room, len(edges))))
    call.give("numEdges", len(edges))


def cuGraphAddDependencies(call: Invocation) -> int:
    return _change_edges(call, lambda node, before: node.after.append(before))


def cuGraphRemoveDependencies(call: Invocation) -> int:
    return _change_edges(call, lambda node, before: node.after.remove(before) if before in node.after else None)


def _change_edges(call: Invocation, change: Callable[[Node, Node], object | None]) -> int:
    ends = [struct_bytes(call, name) for name in ("from", "to")]
    for position in range(call["numDependencies"]):
        before, node = (
            call.process.nodes.get(int.from_bytes(end[8 * position : 8 * position + 8], "little")) for end in ends
        )
        if before is None or node is None:
            return status.INVALID_VALUE
        change(node, before)
    return status.SUCCESS
