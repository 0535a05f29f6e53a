from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.nodes import depends, edges_named, was_added
from cuvet.model.objects import Graph
from cuvet.rules.rule import CallRule, Violations


class GraphDependencyMissing(CallRule):
    """
    checks: `cuGraphRemoveDependencies` fails because the graph does not have the edge.
    why: The edge was never added, was removed before, or has the other direction. The driver returns CUDA_ERROR_INVALID_VALUE.
    instead: Query the edges with `cuGraphNodeGetDependencies`, and keep the order (from, to).
    limits: Reported only when the call fails. Silent about edges of captured or cloned nodes.
    """

    code = "CV709"
    summary = "a dependency is removed that the graph does not have"
    help = "query the dependencies with cuGraphNodeGetDependencies"
    entry_points = frozenset({"cuGraphRemoveDependencies"})
    evidence = """
    recorded: edges between nodes that none was given for: CUDA_ERROR_INVALID_VALUE
    documented: an error is returned for a dependency that does not exist (CUDA Driver API, Graph Management,
      cuGraphRemoveDependencies)
    """
    VALID = """
## edge removed that was added
graph = cu.cuGraphCreate(0)
first, second = cu.cuGraphAddEmptyNode(graph, None, 0), cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphAddDependencies(graph, [first], [second], None, 1)
cu.cuGraphRemoveDependencies(graph, [first], [second], None, 1)

## edge that was given with the node
graph = cu.cuGraphCreate(0)
first = cu.cuGraphAddEmptyNode(graph, None, 0)
second = cu.cuGraphAddEmptyNode(graph, [first], 1)
cu.cuGraphRemoveDependencies(graph, [first], [second], None, 1)
"""
    INVALID = """
## edge the other way round
graph = cu.cuGraphCreate(0)
first = cu.cuGraphAddEmptyNode(graph, None, 0)
second = cu.cuGraphAddEmptyNode(graph, [first], 1)
cu.cuGraphRemoveDependencies(graph, [second], [first], None, 1)  # error: [graph-dependency-missing]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        graph = model.object_of(call, call.index("hGraph"), Kind.GRAPH)
        if not isinstance(graph, Graph) or not graph.alive or graph.allocates:
            return
        for first, second in edges_named(call, model):
            judged = was_added(first) and was_added(second) and first.parent is graph is second.parent
            if judged and not depends(second, first):
                message = f"{second.name} does not depend on {first.name}"
                yield cls.refused(message, second, first, argument=call.index("to"))
                return
