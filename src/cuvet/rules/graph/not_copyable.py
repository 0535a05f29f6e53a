from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView, Object
from cuvet.model.objects import Graph, GraphExec
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations

_PARAMETERS = {
    "cuGraphClone": "originalGraph",
    "cuGraphAddChildGraphNode": "childGraph",
    "cuGraphInstantiate": "hGraph",
    "cuGraphInstantiateWithFlags": "hGraph",
    "cuGraphInstantiateWithParams": "hGraph",
}


class GraphNotCopyable(CallRule):
    """
    checks: A graph that allocates or frees memory, or has a conditional node, cannot be cloned, added to another graph as a child, or
      instantiated while it has an executable graph, or a clone from before its conditional node. The call fails.
    why: The graph owns addresses or condition handles, so only one executable graph can exist. The call returns CUDA_ERROR_NOT_SUPPORTED.
    instead: Build or capture the graph again, or destroy the first executable graph before creating the second. A graph with memory nodes
      can be moved into its parent (`cuGraphAddNode` with `CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE`).
    limits: Reported only when the call fails. A refused free node counts as a memory node; those of a child graph do not.
    """

    code = "CV706"
    summary = "a graph with memory or conditional nodes is copied"
    help = "build the graph again, or destroy the first executable graph before making another"
    entry_points = frozenset(_PARAMETERS)
    evidence = """
    recorded: graphs with memory or conditional nodes, cloned, added as a child, instantiated a second time with
      cuGraphInstantiateWithFlags: CUDA_ERROR_NOT_SUPPORTED; no error if the first time was before these nodes
    recorded: cuGraphInstantiateWithParams a second time: CUDA_ERROR_NOT_SUPPORTED, 2 of 2; once it was a graph that was
      cloned before its conditional node was added: CUDA_ERROR_NOT_SUPPORTED
    documented: graphs with memory nodes or conditional nodes cannot be cloned, nor be copied into a child node (CUDA
      Driver API, Graph Management, cuGraphClone and cuGraphAddChildGraphNode)
    documented: of a graph with memory nodes, or with conditional nodes, one executable graph can exist at a time (CUDA
      Driver API, Graph Management, cuGraphInstantiate, and Data types used by CUDA driver, CUgraphNodeType)
    documented: with CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE a graph with memory nodes can be a child: it then belongs to
      the parent (CUDA Driver API, Data types used by CUDA driver, CUgraphChildGraphNodeOwnership)
    """
    VALID = """
## instantiated again after the first was destroyed
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemFreeAsync(memory, stream)
graph = cu.cuStreamEndCapture(stream)
cu.cuGraphExecDestroy(cu.cuGraphInstantiateWithFlags(graph, 0))
cu.cuGraphExecDestroy(cu.cuGraphInstantiateWithFlags(graph, 0))

## graph without memory nodes
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, None, 0)
clone = cu.cuGraphClone(graph)
cu.cuGraphAddChildGraphNode(clone, None, 0, graph)
cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphInstantiateWithFlags(graph, 0)
"""
    INVALID = """
## cloned
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemFreeAsync(memory, stream)
graph = cu.cuStreamEndCapture(stream)
cu.cuGraphClone(graph)  # error: [graph-not-copyable]

## instantiated twice
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemFreeAsync(memory, stream)
graph = cu.cuStreamEndCapture(stream)
first = cu.cuGraphInstantiateWithFlags(graph, 0)
second = cu.cuGraphInstantiateWithFlags(graph, 0)  # error: [graph-not-copyable]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        argument = call.index(_PARAMETERS[call.name])
        graph = model.object_of(call, argument, Kind.GRAPH)
        if not isinstance(graph, Graph) or not graph.alive or not graph.unique:
            return
        made: list[Object] = [
            found
            for found in model.objects(Kind.GRAPH_EXEC)
            if isinstance(found, GraphExec) and found.graph is graph and (found.unique or graph.conditional)
        ]
        if graph.conditional:
            made += [
                found for found in model.objects(Kind.GRAPH) if isinstance(found, Graph) and found.original is graph
            ]
        if call.name.startswith("cuGraphInstantiate") and not made:
            return
        first = (
            []
            if not made or made[0].created_by is None
            else [f"{made[0].name} was made by {place(made[0].created_by)}"]
        )
        message = f"{graph.name} has memory or conditional nodes"
        yield cls.refused(message, graph, *made[:1], argument=argument, because=tuple(first), outcomes=(801,))
