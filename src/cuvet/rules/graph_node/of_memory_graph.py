from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Graph
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CRASH, CallRule, Violations


class GraphNodeOfMemoryGraph(CallRule):
    """
    checks: A call fails that destroys a node, or removes a dependency, of a graph that allocates or frees memory: it has such nodes, or was
      captured with `cuMemAllocAsync` or `cuMemFreeAsync` on a stream of the capture.
    why: Such a graph's nodes and edges cannot be deleted: the call returns CUDA_ERROR_NOT_SUPPORTED.
    instead: Build the graph again without the node, or disable a kernel, set or copy (`cuGraphNodeSetEnabled`).
    limits: Reported only when the call fails. Memory nodes of a child graph are not examined.
    """

    code = "CV744"
    summary = "a node or dependency is removed from a graph that allocates or frees memory"
    help = "build the graph again without the node or dependency"
    entry_points = frozenset({"cuGraphDestroyNode", "cuGraphRemoveDependencies"})
    evidence = """
    recorded: nodes of every type in graphs with memory nodes, their dependencies, and a node of a graph that was
      captured with a cuMemFreeAsync, which failed: CUDA_ERROR_NOT_SUPPORTED
    recorded: nodes of graphs with memory nodes, destroyed: in six programs the driver died of SIGSEGV
    documented: nodes of a graph with allocation or free nodes cannot be destroyed, nor dependencies in it removed (CUDA
      Driver API, Graph Management, cuGraphDestroyNode and cuGraphRemoveDependencies)
    documented: kernel, memset and memcpy nodes can be disabled in an executable graph (CUDA Driver API, Graph
      Management, cuGraphNodeSetEnabled)
    """
    VALID = """
## graph without memory nodes
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphDestroyNode(node)
cu.cuGraphDestroy(graph)

## whole graph destroyed
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemFreeAsync(memory, stream)
graph = cu.cuStreamEndCapture(stream)
cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphDestroy(graph)
"""
    INVALID = """
## node of a captured graph that allocates
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemFreeAsync(memory, stream)
graph = cu.cuStreamEndCapture(stream)
node = cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphDestroyNode(node)  # error: [graph-node-of-memory-graph]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        index = call.entry_point.index
        if "hNode" in index:
            node = model.object_of(call, index["hNode"], Kind.GRAPH_NODE)
            graph = None if node is None or not node.alive else node.parent
        else:
            node, graph = None, model.object_of(call, index["hGraph"], Kind.GRAPH)
        if not isinstance(graph, Graph) or not graph.alive or not graph.allocates:
            return
        made = () if graph.created_by is None else (f"{graph.name} was made by {place(graph.created_by)}",)
        yield cls.refused(
            f"{graph.name} allocates or frees memory, so that nothing can be taken out of it",
            node,
            graph,
            argument=index.get("hNode", index.get("hGraph")),
            because=made,
            outcomes=(801,) if node is None else (801, CRASH),
        )
