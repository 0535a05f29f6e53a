"""Graphs, their nodes, executable graphs and user objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cuvet.catalog import driver
from cuvet.catalog.results import GRAPH_EXEC_UPDATE_FAILURE, ILLEGAL_STATE, INVALID_VALUE, NOT_SUPPORTED, SUCCESS
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.accesses import NODES
from cuvet.model.call import CRASH
from cuvet.model.naming import member, words_named
from cuvet.model.nodes import (
    CONDITIONAL,
    MEM_ALLOC,
    MEM_FREE,
    TYPED,
    WAITING,
    edges_named,
    frees_before,
    frees_memory,
    in_circle,
    leaves_memory,
    node_types,
    nodes_named,
    type_added,
    was_added,
)
from cuvet.model.objects import Capture, Event, Function, Graph, GraphExec, GraphNode, Object
from cuvet.model.touching import launched, touched
from cuvet.model.transitions.capture import adds_to
from cuvet.model.transitions.object import create, output, parameter
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles, returned_by, written_by

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model
    from cuvet.model.touches import Touch
    from cuvet.model.view import ModelView

_CHANGE_NODES = tuple(
    entry_point.name
    for entry_point in driver().entry_points
    if re.fullmatch(r"cuGraph\w*Node(SetParams|SetEnabled)|cuGraphDestroyNode", entry_point.name)
)
_NEVER_ENDS = 1 << 62
"""References."""


@for_role(Verb.CREATES, Kind.GRAPH_NODE)
def add_node(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    create(model, call, outcome, role)
    node = model.find(Kind.GRAPH_NODE, output(call, outcome, role.parameter))
    node_type = type_added(call)
    model.graphs_allocate |= node_type == MEM_ALLOC
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    if not isinstance(graph, Graph):
        model.graphs_wait |= node_type in WAITING
        return
    graph.allocates |= node_type in (MEM_ALLOC, MEM_FREE)
    graph.conditional |= node_type == CONDITIONAL
    if call.name == "cuGraphAddMemFreeNode":
        graph.frees[call.arg("dptr")] = call
    dependencies = nodes_named(call, model, "dependencies")
    graph.edges_unknown |= None in dependencies or len(dependencies) < parameter(call, "numDependencies")
    touches, waits = _of_node(model, call)
    graph.waits |= waits or node_type in WAITING
    _tell_parents(graph, touches)
    if isinstance(node, GraphNode):
        node.events = _events_named(model, call, graph)
        node.waits_for = {other for other in dependencies if other is not None}
        node.touches = touches


def _of_node(model: Model, call: Call) -> tuple[tuple[Touch, ...], bool]:
    """What the node touches that the call adds or changes, as far as it is known, and whether it may wait for what no call shows."""
    for role in call.entry_point.roles:
        if role.kind is Kind.GRAPH and role.parameter != "hGraph" and words_named(call, role):
            child = model.object_named(call, role)
            return (child.all_touches, child.waits) if isinstance(child, Graph) else ((), True)
    if model.touches is None or call.name not in NODES:
        return (), False
    kernel = launched(call, model)
    use = model.kernels.use(kernel) if model.kernels is not None and isinstance(kernel, Function) else None
    return touched(call, model), use is not None and use.waits


def _events_named(model: Model, call: Call, graph: Graph) -> tuple[Event, ...]:
    """The event of the node that the call adds, or those of the child graph that the node gets a copy of."""
    events: list[Event] = []
    for named in (found for role in call.entry_point.roles for found in model.objects_named(call, role)):
        if isinstance(named, Event):
            events.append(named)
        elif isinstance(named, Graph) and named is not graph:
            events += named.events
    return tuple(events)


@after_roles("cuGraphAddDependencies")
def add_dependencies(model: Model, call: Call, outcome: Outcome) -> None:
    for first, second in _edges(model, call):
        if isinstance(second, GraphNode):
            second.waits_for = {other for other in second.waits_for if other.alive} | {first}


@after_roles("cuGraphRemoveDependencies")
def remove_dependencies(model: Model, call: Call, outcome: Outcome) -> None:
    for first, second in _edges(model, call):
        if isinstance(second, GraphNode):
            second.waits_for.discard(first)


def _edges(model: Model, call: Call) -> list[tuple[Object, Object]]:
    """Those that are known. Of a long list the shim stores the start."""
    edges = edges_named(call, model)
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    if isinstance(graph, Graph):
        graph.edges_unknown |= len(edges) < parameter(call, "numDependencies")
    return edges


@after_roles("cuGraphConditionalHandleCreate")
def add_condition(model: Model, call: Call, outcome: Outcome) -> None:
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    condition = output(call, outcome, "pHandle_out")
    if isinstance(graph, Graph) and condition:
        graph.conditions[condition] = call


@after_roles("cuGraphEventRecordNodeSetEvent", "cuGraphEventWaitNodeSetEvent")
def set_event(model: Model, call: Call, outcome: Outcome) -> None:
    node = model.object_of(call, call.entry_point.index["hNode"], Kind.GRAPH_NODE)
    event = model.object_of(call, call.entry_point.index["event"], Kind.EVENT)
    if isinstance(node, GraphNode):
        node.events = (event,) if isinstance(event, Event) else ()


@after_roles("cuGraphClone")
def clone(model: Model, call: Call, outcome: Outcome) -> None:
    original = model.object_of(call, call.entry_point.index["originalGraph"], Kind.GRAPH)
    made = model.find(Kind.GRAPH, output(call, outcome, "phGraphClone"))
    if isinstance(made, Graph) and isinstance(original, Graph):
        made.original = original
        made.unnamed_events = list(original.events)
        made.allocates, made.conditional = original.allocates, original.conditional
        made.captured_touches = original.all_touches
        made.waits = original.waits


@after_roles("cuGraphNodeFindInClone")
def find_in_clone(model: Model, call: Call, outcome: Outcome) -> None:
    found = model.find(Kind.GRAPH_NODE, output(call, outcome, "phNode"))
    if isinstance(found, GraphNode):
        found.original = model.object_of(call, call.entry_point.index["hOriginalNode"], Kind.GRAPH_NODE)


@for_role(Verb.CREATES, Kind.GRAPH)
def create_graph(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    """The graph of a capture may be there already: the capture was begun into it, or the program asked for it meanwhile."""
    capture = _ended_capture(model, call)
    handle = output(call, outcome, role.parameter)
    graph = model.find(Kind.GRAPH, handle)
    recaptured = capture is not None and capture.begun_by.name == "cuStreamBeginRecaptureToGraph"
    if recaptured and isinstance(graph, Graph):
        _tell_parents(graph, None)
    if capture is None or graph is None or not graph.alive or capture.graph is not graph:
        create(model, call, outcome, role)
        graph = model.find(Kind.GRAPH, handle)
    if capture is not None and isinstance(graph, Graph):
        adds_to(model, capture, graph)
        graph.unnamed_events += capture.events
        model.graphs_allocate |= capture.allocates
        graph.allocates |= capture.allocates
        graph.captured_unfreed |= bool(capture.unfreed)
        if recaptured:
            graph.captured_touches = ()
        captured = () if capture.touches is None else capture.touches.of_nodes()
        graph.captured_touches += captured
        graph.waits |= capture.waits
        _tell_parents(graph, captured)


def _ended_capture(model: Model, call: Call) -> Capture | None:
    """The capture that this call ended."""
    index = call.entry_point.index.get("hStream")
    stream = None if index is None else model.stream_of(call, index)
    return None if stream is None or stream.begun is None or stream.begun.ended_by is not call else stream.begun


def forget_held(model: Model) -> None:
    """Memory that launches left allocated may be freed now."""
    for executable in model.objects(Kind.GRAPH_EXEC):
        if isinstance(executable, GraphExec):
            executable.holds = None


@for_role(Verb.LAUNCHES, Kind.GRAPH_EXEC)
def launch(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    found = model.object_of(call, call.entry_point.index[role.parameter], Kind.GRAPH_EXEC)
    stream = model.stream_on(call)
    if isinstance(found, GraphExec):
        if stream is not None and found.last_launch is not None:
            model.order.wait(stream, found.clock)
        if frees_memory(found):
            forget_held(model)
        found.last_launch, found.stream = call, stream
        found.holds = call if found.leaves_memory else None
    waits = model.graphs_wait or not isinstance(found, GraphExec) or found.waits
    if waits and stream is not None:
        model.order.doubt(stream)


@after_roles("cuGraphLaunch")
def follow_launch(model: Model, call: Call, outcome: Outcome) -> None:
    """The next launch comes after this one, on whatever stream."""
    found = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH_EXEC)
    if isinstance(found, GraphExec):
        found.clock = model.order.record(found.stream)


@after_roles("cuGraphInstantiate", "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams")
def instantiate(model: Model, call: Call, outcome: Outcome) -> None:
    made = model.find(Kind.GRAPH_EXEC, output(call, outcome, "phGraphExec"))
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    if isinstance(made, GraphExec) and isinstance(graph, Graph):
        made.graph, made.events, made.nodes = graph, graph.events, frozenset(graph.children)
        made.types, made.unique = node_types(graph), graph.unique
        _follow(model, made, graph)
        made.leaves_memory = leaves_memory(graph) and not frees_before(made)


@after_roles("cuGraphExecUpdate")
def update(model: Model, call: Call, outcome: Outcome) -> None:
    found = model.object_of(call, call.entry_point.index["hGraphExec"], Kind.GRAPH_EXEC)
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    if isinstance(found, GraphExec):
        found.events = graph.events if isinstance(graph, Graph) else ()
        if isinstance(graph, Graph):
            _follow(model, found, graph)
            found.touches_of = {None: graph.all_touches} if found.touches_of else {}
        else:
            found.touches_of = {}


def _follow(model: Model, executable: GraphExec, graph: Graph) -> None:
    """What its launches touch; nothing that can be judged if its nodes may wait for what no call shows."""
    executable.waits = graph.waits
    unknown = graph.unique or graph.waits or model.graphs_wait
    executable.touches_of = {} if unknown else graph.touches


@after_roles(*_CHANGE_NODES)
def change_node(model: Model, call: Call, outcome: Outcome) -> None:
    """Of a graph of which it is not known which node is changed, or to what, nothing is known any more; of all graphs, if it is not known
    which."""
    node = model.object_of(call, call.entry_point.index["hNode"], Kind.GRAPH_NODE)
    if "hGraphExec" in call.entry_point.index:
        executable = model.object_of(call, call.entry_point.index["hGraphExec"], Kind.GRAPH_EXEC)
        if isinstance(executable, GraphExec):
            _change_in_executable(model, call, executable, node)
        return
    several = model.objects(Kind.GRAPH) if node is None or node.parent is None else [node.parent]
    graphs = [each for each in several if isinstance(each, Graph)]
    if isinstance(node, GraphNode) and node.touches is not None:
        node.touches, waits = _of_node(model, call)
        graphs[0].waits |= waits
        _tell_parents(graphs[0], None)
        return
    for each in graphs:
        each.captured_touches = ()
        _tell_parents(each, None)


def _tell_parents(graph: Graph, more: tuple[Touch, ...] | None) -> None:
    """A child graph has changed: the node whose graph it is touches this as well; None: nothing is known any more of what it touches."""
    while isinstance(graph.parent, GraphNode) and isinstance(graph.parent.parent, Graph):
        node, waits, graph = graph.parent, graph.waits, graph.parent.parent
        graph.waits |= waits
        if node.touches is not None:
            node.touches = () if more is None else (*node.touches, *more)
        else:
            graph.captured_touches = () if more is None else (*graph.captured_touches, *more)


def _change_in_executable(model: Model, call: Call, executable: GraphExec, node: Object | None) -> None:
    touches, waits = _of_node(model, call)
    executable.waits |= waits
    if node is None or node not in executable.touches_of or waits:
        executable.touches_of = {}
    else:
        executable.touches_of[node] = touches


@after_roles("cuGraphExecNodeSetParams", "cuGraphExecEventRecordNodeSetEvent", "cuGraphExecEventWaitNodeSetEvent")
def set_exec_event(model: Model, call: Call, outcome: Outcome) -> None:
    """Which event it replaces is not known: the new one is all that is certain."""
    found = model.object_of(call, call.entry_point.index["hGraphExec"], Kind.GRAPH_EXEC)
    event = model.find(Kind.EVENT, parameter(call, "event"))
    if isinstance(found, GraphExec):
        found.events = (event,) if isinstance(event, Event) else ()


@after_roles("cuGraphChildGraphNodeGetGraph")
def get_child_graph(model: Model, call: Call, outcome: Outcome) -> None:
    graph = model.find(Kind.GRAPH, output(call, outcome, "phGraph"))
    if isinstance(graph, Graph):
        graph.child = True


@after_roles("cuUserObjectCreate")
def create_user_object(model: Model, call: Call, outcome: Outcome) -> None:
    made = model.find(Kind.USER_OBJECT, output(call, outcome, "object_out"))
    if made is not None:
        made.references = parameter(call, "initialRefcount", 1)


@instead_of_roles("cuUserObjectRetain")
def retain_user_object(model: Model, call: Call, outcome: Outcome) -> None:
    found = model.object_of(call, call.entry_point.index["object"], Kind.USER_OBJECT)
    if found is not None:
        found.references += parameter(call, "count", 1)


@instead_of_roles("cuGraphRetainUserObject")
def share_user_object(model: Model, call: Call, outcome: Outcome) -> None:
    """The graph holds references of its own, or takes over the caller's (CU_GRAPH_USER_OBJECT_MOVE). When it lets go of them
    is not followed, so the object is not known to end any more."""
    found = model.object_of(call, call.entry_point.index["object"], Kind.USER_OBJECT)
    graph = model.object_of(call, call.entry_point.index["graph"], Kind.GRAPH)
    if found is not None:
        found.references = _NEVER_ENDS
        if isinstance(graph, Graph):
            graph.owned[found] = graph.owned.get(found, 0) + parameter(call, "count", 1)


@instead_of_roles("cuGraphReleaseUserObject")
def take_user_object(model: Model, call: Call, outcome: Outcome) -> None:
    """The driver does not look whether the graph has the references."""
    found = model.object_of(call, call.entry_point.index["object"], Kind.USER_OBJECT)
    graph = model.object_of(call, call.entry_point.index["graph"], Kind.GRAPH)
    if found is None or not isinstance(graph, Graph):
        return
    count = parameter(call, "count", 1)
    left = graph.owned.get(found, 0) - count
    if left < 0:
        graph.released_too_often = True
        _let_go(model, call, found, count)
    elif left:
        graph.owned[found] = left
    else:
        graph.owned.pop(found, None)


def _let_go(model: Model, call: Call, found: Object, count: int) -> None:
    found.references -= count
    if found.references <= 0:
        model.end(found, call)


@instead_of_roles("cuUserObjectRelease")
def release_user_object(model: Model, call: Call, outcome: Outcome) -> None:
    found = model.object_of(call, call.entry_point.index["object"], Kind.USER_OBJECT)
    if found is not None:
        _let_go(model, call, found, parameter(call, "count", 1))


@instead_of_roles("cuMemRetainAllocationHandle")
def retain_memory_handle(model: Model, call: Call, outcome: Outcome) -> None:
    """Memory that is mapped is there, also when its handle was released: the handle is valid again."""
    handle = output(call, outcome, "handle")
    found = model.find(Kind.MEMORY_HANDLE, handle)
    if found is not None and found.alive:
        found.references += 1
    elif handle:
        model.create(Object, Kind.MEMORY_HANDLE, handle, call, outcome, "handle", None).context = None


@instead_of_roles("cuMemRelease")
def release_memory_handle(model: Model, call: Call, outcome: Outcome) -> None:
    found = model.object_of(call, call.entry_point.index["handle"], Kind.MEMORY_HANDLE)
    if found is not None:
        _let_go(model, call, found, 1)


_EVENT_NODES = {6: "eventWait.event", 7: "eventRecord.event"}
"""CU_GRAPH_NODE_TYPE_WAIT_EVENT and CU_GRAPH_NODE_TYPE_EVENT_RECORD: where CUgraphNodeParams holds the event."""


@returned_by("cuGraphAddNode")
def of_node(model: ModelView, call: Call) -> tuple[int, ...]:
    """An event node needs an event."""
    field = _EVENT_NODES.get(member(call, "nodeParams", "type") or 0)
    missing = field and member(call, "nodeParams", field) == 0
    return (INVALID_VALUE,) if missing else of_dependencies(model, call)


@returned_by(*(f"cuGraphAdd{name}Node" for name in TYPED if name != "MemFree"))
def of_dependencies(model: ModelView, call: Call) -> tuple[int, ...]:
    """A new node depends on nodes of the same graph, on each once (NVIDIA H200, driver 580.159, CUDA 13.0)."""
    named = nodes_named(call, model, "dependencies")
    known = [node for node in named if node is not None]
    twice = len(set(known)) < len(known)
    return (INVALID_VALUE,) if twice or _elsewhere(model, call, known) else (SUCCESS,)


@returned_by("cuGraphAddDependencies", "cuGraphRemoveDependencies")
def of_edges(model: ModelView, call: Call) -> tuple[int, ...]:
    """An edge leads from a node of the graph to another one of it (NVIDIA H200, driver 580.159, CUDA 13.0)."""
    edges = edges_named(call, model)
    nodes = [node for edge in edges for node in edge]
    to_itself = any(first is second for first, second in edges)
    return (INVALID_VALUE,) if to_itself or _elsewhere(model, call, nodes) else (SUCCESS,)


def _elsewhere(model: ModelView, call: Call, nodes: list[Object]) -> bool:
    """Whether a call added one of them to a graph other than the call's."""
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    return graph is not None and any(was_added(node) and node.parent is not graph for node in nodes)


@returned_by("cuGraphInstantiate", "cuGraphInstantiateWithFlags")
def of_instantiation(model: ModelView, call: Call) -> tuple[int, ...]:
    """Nodes must not wait for each other in a circle (NVIDIA H200, driver 580.159, CUDA 13.0)."""
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    return (INVALID_VALUE,) if graph is not None and in_circle(graph.children) else (SUCCESS,)


@returned_by("cuGraphExecBatchMemOpNodeSetParams")
def of_batch(model: ModelView, call: Call) -> tuple[int, ...]:
    """The context of the operations may not be modified, says its documentation (cuGraphExecBatchMemOpNodeSetParams)."""
    node = model.object_of(call, call.entry_point.index["hNode"], Kind.GRAPH_NODE)
    made = None if node is None else node.created_by
    if made is None or made.name != "cuGraphAddBatchMemOpNode":
        return (SUCCESS,)
    before, now = member(made, "nodeParams", "ctx"), member(call, "nodeParams", "ctx")
    return (SUCCESS,) if before == now else (INVALID_VALUE,)


@returned_by("cuGraphDestroy", "cuGraphDestroyNode")
def of_graph_end(model: ModelView, call: Call) -> tuple[int, ...]:
    """A graph that a capture adds nodes to stays, and so do its nodes."""
    if "hNode" in call.entry_point.index:
        node = model.object_of(call, call.entry_point.index["hNode"], Kind.GRAPH_NODE)
        graph = None if node is None else node.parent
    else:
        graph = model.object_of(call, 0, Kind.GRAPH)
    if graph is not None and any(capture.graph is graph for capture in model.captures()):
        return (ILLEGAL_STATE,)
    damaged = isinstance(graph, Graph) and graph.released_too_often and call.name == "cuGraphDestroy"
    return (SUCCESS, CRASH) if damaged else (SUCCESS,)


@returned_by("cuGraphLaunch")
def of_graph_launch(model: ModelView, call: Call) -> tuple[int, ...]:
    """Whether memory is there that the graph frees, or still there that it allocates, is not known of all graphs."""
    made = model.object_of(call, 0, Kind.GRAPH_EXEC)
    if not isinstance(made, GraphExec) or not made.unique:
        return (SUCCESS,)
    frees = made.types is not None and frees_memory(made)
    again = made.types is None and made.last_launch is not None and not frees_before(made)
    return (SUCCESS, INVALID_VALUE) if frees or again else (SUCCESS,)


@returned_by("cuGraphExecUpdate")
def of_update(model: ModelView, call: Call) -> tuple[int, ...]:
    """Programs update first and instantiate anew if that fails: it is no mistake that the graphs have other nodes. Which nodes a capture
    adds is not known, nor which of two errors it is that another graph allocates memory."""
    made = model.object_of(call, call.entry_point.index["hGraphExec"], Kind.GRAPH_EXEC)
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    if not isinstance(made, GraphExec) or not isinstance(graph, Graph):
        return (SUCCESS,)
    types = node_types(graph)
    if made.types is None or types is None:
        return (SUCCESS, GRAPH_EXEC_UPDATE_FAILURE)
    if made.types == types:
        return (SUCCESS,)
    foreign = graph.allocates and not graph.conditional and made.graph is not graph
    return (GRAPH_EXEC_UPDATE_FAILURE, NOT_SUPPORTED) if foreign else (GRAPH_EXEC_UPDATE_FAILURE,)


@returned_by("cuUserObjectRelease", "cuUserObjectRetain")
def of_user_object(model: ModelView, call: Call) -> tuple[int, ...]:
    """After the last release it is undefined to use one (cuUserObjectRelease)."""
    found = model.object_of(call, call.entry_point.index["object"], Kind.USER_OBJECT)
    return (SUCCESS,) if found is None or found.alive else (SUCCESS, CRASH)


@written_by("cuGraphConditionalHandleCreate")
def condition(model: ModelView, call: Call) -> dict[int, int]:
    """The conditions of a graph are numbered from 1."""
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    made = isinstance(graph, Graph) and graph.created_by is not None and graph.created_by.name == "cuGraphCreate"
    return {0: len(graph.conditions) + 1} if isinstance(graph, Graph) and made else {}
