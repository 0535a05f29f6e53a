from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView, Object
from cuvet.model.nodes import was_added
from cuvet.model.objects import Graph
from cuvet.rules.rule import CallRule, Violations


class GraphNodeNotCloned(CallRule):
    """
    checks: `cuGraphNodeFindInClone` fails because the graph is no clone of the node's graph.
    why: Only a clone knows which of its nodes belongs to which node of the original. The call returns CUDA_ERROR_INVALID_VALUE.
    instead: Pass a node of the cloned graph, and the graph that `cuGraphClone` returned.
    limits: Reported only when the call fails.
    """

    code = "CV745"
    summary = "a node is searched in a graph that is no clone of its graph"
    help = "pass the graph that cuGraphClone made of the node's graph"
    entry_points = frozenset({"cuGraphNodeFindInClone"})
    evidence = """
    recorded: in graphs that are no clones, or clones of another graph: CUDA_ERROR_INVALID_VALUE
    documented: hClonedGraph must have been made by cuGraphClone, of the graph that hOriginalNode was in at that time
      (CUDA Driver API, Graph Management, cuGraphNodeFindInClone)
    """
    VALID = """
## clone of the node's graph
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, None, 0)
copy = cu.cuGraphNodeFindInClone(node, cu.cuGraphClone(graph))
cu.cuGraphDestroyNode(copy)

## one of two clones
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, None, 0)
first, second = cu.cuGraphClone(graph), cu.cuGraphClone(graph)
cu.cuGraphNodeFindInClone(node, first)
cu.cuGraphNodeFindInClone(node, second)

## graph of a child node, which is a clone too
child, parent = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(child, None, 0)
embedded = cu.cuGraphChildGraphNodeGetGraph(cu.cuGraphAddChildGraphNode(parent, None, 0, child))
cu.cuGraphNodeFindInClone(node, embedded)
"""
    INVALID = """
## the graph itself
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphNodeFindInClone(node, graph)  # error: [graph-node-not-cloned]

## clone of another graph
graph, other = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphNodeFindInClone(node, cu.cuGraphClone(other))  # error: [graph-node-not-cloned]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        index = call.entry_point.index
        node = model.object_of(call, index["hOriginalNode"], Kind.GRAPH_NODE)
        clone = model.object_of(call, index["hClonedGraph"], Kind.GRAPH)
        if node is None or not node.alive or node.parent is None or not isinstance(clone, Graph) or not clone.alive:
            return
        if clone.child:  # cuGraphAddChildGraphNode cloned it
            return
        if clone.original is not node.parent or _added_later(node, clone):
            message = f"{clone.name} is no clone of {node.parent.name}, which {node.name} belongs to"
            yield cls.refused(message, node, clone, node.parent, argument=index["hClonedGraph"])


def _added_later(node: Object, clone: Graph) -> bool:
    """Whether the node was added to its graph after that was cloned."""
    added, cloned = node.created_by, clone.created_by
    return added is not None and cloned is not None and was_added(node) and added.number > cloned.number
