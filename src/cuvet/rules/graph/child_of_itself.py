from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Graph
from cuvet.rules.rule import CRASH, CallRule, Violations


class GraphChildOfItself(CallRule):
    """
    checks: A graph is added to itself as a child (`cuGraphAddChildGraphNode`).
    why: The call clones the child into the new node, which is part of that child. It was recorded to die of SIGSEGV inside the driver.
    instead: Add a clone of the graph (`cuGraphClone`).
    limits: None known.
    """

    code = "CV707"
    summary = "a graph is added to itself as a child"
    help = "add a clone of the graph instead"
    entry_points = frozenset({"cuGraphAddChildGraphNode"})
    evidence = """
    recorded: SIGSEGV in the driver in all of 57 calls
    documented: the child graph is cloned in this call (CUDA Driver API, Graph Management, cuGraphAddChildGraphNode)
    """
    VALID = """
## clone of the graph
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphAddChildGraphNode(graph, None, 0, cu.cuGraphClone(graph))

## another graph
graph, child = cu.cuGraphCreate(0), cu.cuGraphCreate(0)
cu.cuGraphAddChildGraphNode(graph, None, 0, child)
cu.cuGraphAddChildGraphNode(graph, None, 0, child)
"""
    INVALID = """
## graph added to itself
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphAddChildGraphNode(graph, None, 0, graph)  # error: [graph-child-of-itself]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        argument = call.index("childGraph")
        graph = model.object_of(call, argument, Kind.GRAPH)
        if (
            not isinstance(graph, Graph)
            or not graph.alive
            or graph.unique
            or call.arg("hGraph") != call.arg("childGraph")
        ):
            return
        yield cls.broken(f"{graph.name} is added to itself", graph, argument=argument, outcomes=(CRASH,))
