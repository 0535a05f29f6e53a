from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.naming import member
from cuvet.model.nodes import CONDITIONAL, node_type
from cuvet.model.objects import Graph
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations


class GraphConditionUnused(CallRule):
    """
    checks: The instantiation of a graph fails, and a condition (`cuGraphConditionalHandleCreate`) has no conditional node.
    why: The instantiation returns CUDA_ERROR_INVALID_VALUE. A condition cannot be removed from its graph.
    instead: Add a conditional node for each condition. To remove a condition, build the graph again.
    limits: Reported only when the call fails. A condition counts as used if any node that was seen has it.
    """

    code = "CV710"
    summary = "a graph is instantiated with a condition that no conditional node has"
    help = "add a conditional node for each condition that was made"
    entry_points = frozenset({"cuGraphInstantiate", "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams"})
    evidence = """
    recorded: 3 of 3 graphs with a condition of which the node was destroyed or never added: CUDA_ERROR_INVALID_VALUE
    documented: handles not associated with a conditional node may cause graph instantiation to fail (CUDA Driver API,
      Graph Management, cuGraphConditionalHandleCreate)
    """
    VALID = """
## condition of a node
graph = cu.cuGraphCreate(0)
condition = cu.cuGraphConditionalHandleCreate(graph, context, 0, 1)
cu.cuGraphAddNode(graph, None, None, 0, cu.struct(
    "CUgraphNodeParams", type=13, conditional__handle=condition, conditional__size=1, conditional__ctx=context,
))
cu.cuGraphExecDestroy(cu.cuGraphInstantiateWithFlags(graph, 0))

## graph without conditions
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphExecDestroy(cu.cuGraphInstantiateWithFlags(graph, 0))
"""
    INVALID = """
## no conditional node
graph = cu.cuGraphCreate(0)
condition = cu.cuGraphConditionalHandleCreate(graph, context, 0, 1)
cu.cuGraphInstantiateWithFlags(graph, 0)  # error: [graph-condition-unused]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        index = call.index("hGraph")
        graph = model.object_of(call, index, Kind.GRAPH)
        if not isinstance(graph, Graph) or not graph.alive or not graph.conditions:
            return
        nodes = (node for node in model.objects(Kind.GRAPH_NODE) if node_type(node) == CONDITIONAL and node.created_by)
        used = {member(node.created_by, "nodeParams", "conditional.handle") for node in nodes if node.created_by}
        unused = [made for condition, made in graph.conditions.items() if condition not in used]
        if not unused:
            return
        yield cls.refused(
            f"{graph.name} has {len(unused)} condition{'s' if len(unused) > 1 else ''} that no conditional node has",
            graph,
            argument=index,
            because=tuple(f"made by {place(made)}" for made in unused[:3]),
        )
