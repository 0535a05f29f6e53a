"""Graphs, their nodes, executable graphs and user objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.objects import Graph, GraphExec
from cuvet.model.transitions.object import output, parameter
from cuvet.model.transitions.registry import after_roles, for_role, instead_of_roles

if TYPE_CHECKING:
    from cuvet.model.call import Call, Outcome
    from cuvet.model.model import Model


@for_role(Verb.LAUNCHES, Kind.GRAPH_EXEC)
def launch(model: Model, call: Call, outcome: Outcome, role: Role) -> None:
    found = model.object_of(call, call.entry_point.index[role.parameter], Kind.GRAPH_EXEC)
    stream = model.stream_on(call)
    if isinstance(found, GraphExec):
        found.last_launch, found.stream = call, stream
    if model.graphs_wait and stream is not None:
        model.order.doubt(stream)


@after_roles(
    "cuGraphAddEventWaitNode",
    "cuGraphEventWaitNodeSetEvent",
    "cuGraphExecEventWaitNodeSetEvent",
    "cuGraphAddHostNode",
    "cuGraphAddBatchMemOpNode",
    "cuGraphAddExternalSemaphoresWaitNode",
    "cuGraphAddNode",
)
def add_wait(model: Model, call: Call, outcome: Outcome) -> None:
    """From now on a launched graph may wait for what no call shows."""
    model.graphs_wait = True


@after_roles("cuGraphInstantiate", "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams")
def instantiate(model: Model, call: Call, outcome: Outcome) -> None:
    made = model.find(Kind.GRAPH_EXEC, output(call, outcome, "phGraphExec") or 0)
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    if isinstance(made, GraphExec) and isinstance(graph, Graph):
        made.graph = graph


@after_roles("cuGraphChildGraphNodeGetGraph")
def get_child_graph(model: Model, call: Call, outcome: Outcome) -> None:
    graph = model.find(Kind.GRAPH, output(call, outcome, "phGraph") or 0)
    if isinstance(graph, Graph):
        graph.child = True


@after_roles("cuUserObjectCreate")
def create_user_object(model: Model, call: Call, outcome: Outcome) -> None:
    made = model.find(Kind.USER_OBJECT, output(call, outcome, "object_out") or 0)
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
    if found is not None:
        found.references = 1 << 62


@instead_of_roles("cuUserObjectRelease")
def release_user_object(model: Model, call: Call, outcome: Outcome) -> None:
    found = model.object_of(call, call.entry_point.index["object"], Kind.USER_OBJECT)
    if found is not None:
        found.references -= parameter(call, "count", 1)
        if found.references <= 0:
            model.end(found, call)


@instead_of_roles("cuMemRetainAllocationHandle")
def retain_memory_handle(model: Model, call: Call, outcome: Outcome) -> None:
    found = model.find(Kind.MEMORY_HANDLE, output(call, outcome, "handle") or 0)
    if found is not None:
        found.references += 1


@instead_of_roles("cuMemRelease")
def release_memory_handle(model: Model, call: Call, outcome: Outcome) -> None:
    found = model.object_of(call, call.entry_point.index["handle"], Kind.MEMORY_HANDLE)
    if found is not None:
        found.references -= 1
        if found.references <= 0:
            model.end(found, call)
