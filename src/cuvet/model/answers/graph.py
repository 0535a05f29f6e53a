"""Graphs, their nodes, executable graphs and user objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.results import GRAPH_EXEC_UPDATE_FAILURE, ILLEGAL_STATE, INVALID_VALUE, NOT_SUPPORTED, SUCCESS
from cuvet.catalog.roles import Kind
from cuvet.model.answers.registry import returned_by, written_by
from cuvet.model.call import CRASH
from cuvet.model.naming import member
from cuvet.model.nodes import (
    TYPED,
    edges_named,
    frees_before,
    frees_memory,
    in_circle,
    node_types,
    nodes_named,
    was_added,
)
from cuvet.model.objects import Graph, GraphExec

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.objects import Object
    from cuvet.model.view import ModelView

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
