"""Graphs: nodes that do when the graph is launched what the call would have done at once, and stream capture, which makes them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device.driver.graph_body import MEMORY_NODES, Action, GraphBody, Node
from cuvet.device.driver.user_object import dropped, shared
from cuvet.device.invocation import (
    Invocation,
    Refused,
    do_nothing,
    gives,
    path_of,
    read_words,
    require,
    words,
    write,
    write_word,
)
from cuvet.device.protocol import Callback, Command, Op, Steps
from cuvet.model import Capture

# Capture.


def captured(call: Invocation) -> Capture | None:
    """The capture that the call's stream takes part in."""
    stream = call.model.stream_on(call.call)
    return stream.capture if stream is not None else None


def captured_graph(call: Invocation, capture: Capture) -> int:
    """Handle of the graph that the capture makes."""
    process = call.process
    if capture not in process.captures:
        handle = process.capture_into.pop(call.queue(capture.origin.handle), 0) or process.handles.issue(Kind.GRAPH)
        process.captures[capture] = handle
        process.graphs.setdefault(handle, GraphBody())
    return process.captures[capture]


def enqueue(call: Invocation, node: Node, queue: int | None = None) -> Steps[None]:
    """Do the node's work now, or keep it for the graph if the stream is being captured. ``queue``: of the stream, if it is not
    the parameter ``hStream``. Calls without a stream cannot be captured."""
    capture = captured(call)
    if queue is None:
        queue = call.queue(call["hStream"] if "hStream" in call.entry_point.index else 0)
    if capture is None:
        return _do(call, node, queue)
    body = call.process.graphs[captured_graph(call, capture)]
    _add(call, body, node, body.tips.get(queue, []))
    body.tips[queue] = [node]
    return no_steps()


def enqueue_work(call: Invocation, kind: str, action: Action) -> Steps[None]:
    """As ``enqueue`` of a node of that type that does the action, on the stream of the parameter ``hStream``."""
    if call.model.live_captures:
        return enqueue(call, Node(kind, action))
    return action() or no_steps()


def _do(call: Invocation, node: Node, queue: int) -> Steps[None]:
    """The node's work, on a stream's queue. Refused if it fails."""
    if node.host is not None:
        return _call_host(queue, *node.host)
    return (node.action() if node.action else None) or no_steps()


def no_steps() -> Steps[None]:
    """What needs nothing of the shim."""
    return
    yield


def _call_host(queue: int, function: int, data: int) -> Steps[None]:
    yield Command(Op.CALL_HOST, (queue, Callback.HOST_FUNCTION, function, data))


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
    call.process.graphs[handle] = copy_of(call, body_of(call, "originalGraph"))


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
    call.process.graphs[handle] = frozen(call, body_of(call))
    call.set("graph flags", handle, call["flags"] if "flags" in call.entry_point.index else 0)


cuGraphInstantiate = cuGraphInstantiateWithFlags = cuGraphInstantiateWithParams = _instantiate


def frozen(call: Invocation, body: GraphBody) -> GraphBody:
    """The nodes in the order in which they run; they keep their handles, by which an executable graph's nodes are named. The graphs of
    nodes are copied too: the executable graph outlives them."""

    nodes = [
        replace(
            node,
            after=[],
            child=_copied(call, node.child, frozen),
            bodies=tuple(_copied(call, inner, frozen) for inner in node.bodies),
        )
        for node in body.in_order()
    ]
    return shared(call, GraphBody(nodes, user_objects=dict(body.user_objects)))


def cuGraphExecDestroy(call: Invocation) -> Steps[None]:
    yield from dropped(call, call.process.graphs.pop(call["hGraphExec"], None))


cuGraphExecGetFlags = gives(flags=lambda call: call.get("graph flags", call["hGraphExec"]))
cuGraphGetId = gives(graphId=lambda call: call["hGraph"] & 0xFFFFFFFF)
cuGraphUpload = do_nothing


def cuGraphExecUpdate(call: Invocation) -> Steps[None]:
    before, graph = (call.process.graphs.get(call[name], GraphBody()) for name in ("hGraphExec", "hGraph"))
    changed = "NODE_TYPE_CHANGED" if len(before.nodes) == len(graph.nodes) else "TOPOLOGY_CHANGED"
    name = "SUCCESS" if alike(before, graph) else f"ERROR_{changed}"
    if call["resultInfo"]:
        result = catalog().enumerations["CUgraphExecUpdateResult"][f"CU_GRAPH_EXEC_UPDATE_{name}"]
        yield from write(call["resultInfo"], catalog().pack("CUgraphExecUpdateResultInfo", {"result": result}))
    require(alike(before, graph), status.GRAPH_EXEC_UPDATE_FAILURE)
    call.process.graphs[call["hGraphExec"]] = frozen(call, graph)
    yield from dropped(call, before)


def alike(one: GraphBody, other: GraphBody) -> bool:
    """Whether an executable graph of the one can do the work of the other: their nodes are of the same types, in the same order."""
    return [node.type for node in one.in_order()] == [node.type for node in other.in_order()]


def cuGraphLaunch(call: Invocation) -> Steps[None]:
    body, queue = body_of(call), call.queue(call["hStream"])
    yield from enqueue(call, Node("CU_GRAPH_NODE_TYPE_GRAPH", lambda: _run(call, body, queue)))


def _run(call: Invocation, body: GraphBody, queue: int) -> Steps[None]:
    """The launch does not fail with what its nodes do."""
    for node in body.in_order():
        for inner in (node.child, *node.bodies[slice(*node.runs)]):
            yield from _run(call, call.process.graphs.get(inner, GraphBody()), queue)
        if node.enabled:
            with suppress(Refused):
                yield from _do(call, node, queue)


def cuGraphDebugDotPrint(call: Invocation) -> None:
    """Nodes and edges, as an H200 wrote them of empty nodes (driver 580.159, CUDA 13.0); what the flags add is left out."""
    number = call["hGraph"] & 0xFFFFFFFF
    nodes = body_of(call).nodes
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


def nodes_of(call: Invocation, array: str, count: str) -> list[Node]:
    """The nodes whose handles the array parameter holds. Refused if one of them is none."""
    handles = words(call.given(array))[: call[count]]
    require(len(handles) == call[count] and all(handle in call.process.nodes for handle in handles))
    return [call.process.nodes[handle] for handle in handles]


def add_node(call: Invocation, node: Node) -> None:
    """Add a node to the graph ``hGraph`` behind its ``dependencies``. Refused if there is no such graph, or one of these is no node."""
    body = call.known(call.process.graphs, "hGraph", status.INVALID_VALUE)
    _add(call, body, node, nodes_of(call, "dependencies", "numDependencies"))
    call.give("phGraphNode", node.handle)


def cuGraphDestroyNode(call: Invocation) -> Steps[None]:
    """Not from a graph with memory nodes (NVIDIA H200, driver 580.159, CUDA 13.0), as the model knows of nodes that calls added."""
    node = call.known(call.process.nodes, "hNode", status.INVALID_VALUE)
    bodies = [body for body in call.process.graphs.values() if node in body.nodes]
    require(not any(other.type in MEMORY_NODES for body in bodies for other in body.nodes), status.NOT_SUPPORTED)
    for body in call.process.graphs.values():
        body.nodes = [other for other in body.nodes if other is not node]
        for other in body.nodes:
            other.after = [before for before in other.after if before is not node]
    yield from dropped(call, GraphBody([node]))


def cuGraphNodeFindInClone(call: Invocation) -> None:
    node, clone = call.process.nodes.get(call["hOriginalNode"]), body_of(call, "hClonedGraph")
    found = [copy.handle for copy in clone.nodes if node is not None and copy.original is node]
    require(found)
    call.give("phNode", found[0])


def cuGraphNodeGetType(call: Invocation) -> None:
    node = call.known(call.process.nodes, "hNode", status.INVALID_VALUE)
    call.give("type", catalog().enumerations["CUgraphNodeType"][node.type])


def cuGraphChildGraphNodeGetGraph(call: Invocation) -> None:
    node = call.known(call.process.nodes, "hNode", status.INVALID_VALUE)
    require(node.child)
    call.give("phGraph", node.child)


def body_of(call: Invocation, parameter: str = "hGraph") -> GraphBody:
    """The graph, or executable graph, that the parameter names; an empty one if there is none."""
    return call.process.graphs.get(call[parameter], GraphBody())


def _list(call: Invocation, count: str, *arrays: tuple[str, list[Node]]) -> Steps[None]:
    """Write nodes to each of the arrays, as many as there is room for, then zeros; and how many there are."""
    room = (yield from read_words(call[count], 1))[0] if call[arrays[0][0]] else 0
    number = len(arrays[0][1])
    for array, nodes in arrays:
        handles = [node.handle for node in nodes[:room]]
        for position in range(room):
            yield from write_word(call[array] + 8 * position, handles[position] if position < len(handles) else 0)
        call.hand_out(array, handles)
    if "edgeData" in call.entry_point.index and call["edgeData"]:
        yield from write(call["edgeData"], bytes(8 * min(room, number)))
    call.give(count, number)


def cuGraphGetNodes(call: Invocation) -> Steps[None]:
    return _list(call, "numNodes", ("nodes", body_of(call).nodes))


def cuGraphGetRootNodes(call: Invocation) -> Steps[None]:
    return _list(call, "numRootNodes", ("rootNodes", [node for node in body_of(call).nodes if not node.after]))


def cuGraphNodeGetDependencies(call: Invocation) -> Steps[None]:
    node = call.process.nodes.get(call["hNode"])
    return _list(call, "numDependencies", ("dependencies", node.after if node else []))


def cuGraphNodeGetDependentNodes(call: Invocation) -> Steps[None]:
    node = call.process.nodes.get(call["hNode"])
    owner = next((body for body in call.process.graphs.values() if node in body.nodes), GraphBody())
    return _list(call, "numDependentNodes", ("dependentNodes", [other for other in owner.nodes if node in other.after]))


def cuGraphGetEdges(call: Invocation) -> Steps[None]:
    edges = [(before, node) for node in body_of(call).nodes for before in node.after]
    ends = [before for before, _ in edges], [node for _, node in edges]
    return _list(call, "numEdges", ("from", ends[0]), ("to", ends[1]))


def _change_edges(call: Invocation, change: Callable[[Node, Node], object]) -> None:
    for before, node in zip(
        nodes_of(call, "from", "numDependencies"), nodes_of(call, "to", "numDependencies"), strict=True
    ):
        change(node, before)


cuGraphAddDependencies = partial(_change_edges, change=lambda node, before: node.after.append(before))
cuGraphRemoveDependencies = partial(
    _change_edges, change=lambda node, before: node.after.remove(before) if before in node.after else None
)
