from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.nodes import depends, edges_named, was_added
from cuvet.model.objects import Graph
from cuvet.rules.rule import CallRule, Violations


class GraphDependencyTwice(CallRule):
    """
    checks: `cuGraphAddDependencies` fails because the graph already has the edge.
    why: An earlier call, such as the one that added the second node, added the edge. The driver returns CUDA_ERROR_INVALID_VALUE.
    instead: Add each dependency once: with the node, or afterwards.
    limits: Reported only when the call fails. Silent about edges of captured or cloned nodes.
    """

    code = "CV708"
    summary = "a dependency is added that the graph already has"
    help = "add each dependency once"
    entry_points = frozenset({"cuGraphAddDependencies"})
    evidence = """
    recorded: edges that were given when the node was added, or to an earlier call: CUDA_ERROR_INVALID_VALUE
    documented: an error is returned for a dependency that exists already (CUDA Driver API, Graph Management,
      cuGraphAddDependencies)
    """
    VALID = """
## edge added once
graph = cu.cuGraphCreate(0)
first, second = cu.cuGraphAddEmptyNode(graph, None, 0), cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphAddDependencies(graph, [first], [second], None, 1)

## edge that was removed
graph = cu.cuGraphCreate(0)
first = cu.cuGraphAddEmptyNode(graph, None, 0)
second = cu.cuGraphAddEmptyNode(graph, [first], 1)
cu.cuGraphRemoveDependencies(graph, [first], [second], None, 1)
cu.cuGraphAddDependencies(graph, [first], [second], None, 1)
"""
    INVALID = """
## edge given with the node, and added
graph = cu.cuGraphCreate(0)
first = cu.cuGraphAddEmptyNode(graph, None, 0)
second = cu.cuGraphAddEmptyNode(graph, [first], 1)
cu.cuGraphAddDependencies(graph, [first], [second], None, 1)  # error: [graph-dependency-twice]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        graph = model.object_of(call, call.index("hGraph"), Kind.GRAPH)
        if not isinstance(graph, Graph) or not graph.alive:
            return
        for first, second in edges_named(call, model):
            judged = was_added(first) and was_added(second) and first.parent is graph is second.parent
            if judged and depends(second, first):
                message = f"{second.name} depends already on {first.name}"
                yield cls.refused(message, second, first, argument=call.index("to"))
                return
