from cuvet.catalog import EntryPoint
from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.nodes import refusal
from cuvet.model.objects import GraphExec
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations


class GraphExecNodeElsewhere(CallRule):
    """
    checks: A call fails that sets a node's parameters in an executable graph, or enables, disables or queries it: the node is not of the
      graph that was instantiated, or was added later.
    why: The handles of the graph's nodes name the nodes of its executable graph. The call returns CUDA_ERROR_INVALID_VALUE.
    instead: Keep the node handles together with the executable graph. Instantiate again after adding a node.
    limits: Reported only when the call fails. Silent about captured or cloned nodes.
    """

    code = "CV725"
    summary = "a call names a node that the executable graph does not have"
    help = "name a node of the graph that the executable graph was made from"
    kinds = frozenset({Kind.GRAPH_NODE})
    evidence = """
    recorded: nodes of other graphs, and nodes that were added after the instantiation: CUDA_ERROR_INVALID_VALUE
    documented: hNode is the node of the graph from which the executable graph was instantiated, and must not have been
      removed there (CUDA Driver API, Graph Management, cuGraphExecKernelNodeSetParams and cuGraphNodeSetEnabled)
    """
    VALID = """
## node of the graph
graph, other, memory = cu.cuGraphCreate(0), cu.cuGraphCreate(0), cu.cuMemAlloc(64)
fill = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=64, height=1)
node = cu.cuGraphAddMemsetNode(graph, None, 0, fill, context)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecMemsetNodeSetParams(executable, node, fill, context)

## instantiated after the node was added
graph, other, memory = cu.cuGraphCreate(0), cu.cuGraphCreate(0), cu.cuMemAlloc(64)
fill = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=64, height=1)
cu.cuGraphExecDestroy(cu.cuGraphInstantiateWithFlags(graph, 0))
node = cu.cuGraphAddMemsetNode(graph, None, 0, fill, context)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecMemsetNodeSetParams(executable, node, fill, context)
"""
    INVALID = """
## node of another graph
graph, other, memory = cu.cuGraphCreate(0), cu.cuGraphCreate(0), cu.cuMemAlloc(64)
fill = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=64, height=1)
cu.cuGraphAddMemsetNode(graph, None, 0, fill, context)
node = cu.cuGraphAddMemsetNode(other, None, 0, fill, context)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecMemsetNodeSetParams(executable, node, fill, context)  # error: [graph-exec-node-elsewhere]

## node added too late
graph, other, memory = cu.cuGraphCreate(0), cu.cuGraphCreate(0), cu.cuMemAlloc(64)
fill = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=64, height=1)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
node = cu.cuGraphAddMemsetNode(graph, None, 0, fill, context)
cu.cuGraphExecMemsetNodeSetParams(executable, node, fill, context)  # error: [graph-exec-node-elsewhere]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return {"hGraphExec", "hNode"} <= set(entry_point.index)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        index = call.entry_point.index
        made = model.object_of(call, index["hGraphExec"], Kind.GRAPH_EXEC)
        node = model.object_of(call, index["hNode"], Kind.GRAPH_NODE)
        if not isinstance(made, GraphExec) or not made.alive or node is None or not node.alive or node in made.nodes:
            return
        if made.graph is None or node.created_by is None or not node.created_by.name.startswith("cuGraphAdd"):
            return
        where = "another graph" if node.parent is not made.graph else "its graph afterwards,"
        yield cls.refused(
            f"{made.name} was made from a graph that did not have {node.name}",
            node,
            made,
            argument=index["hNode"],
            because=(f"{node.name} was added to {where} by {place(node.created_by)}",),
            outcomes=(refusal(call, model),),
        )
