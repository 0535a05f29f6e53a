from cuvet.catalog import EntryPoint, driver
from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.nodes import node_type, refusal, type_in_name, was_added
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations

_SWITCHED = frozenset({0, 1, 2})
"""CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY and CU_GRAPH_NODE_TYPE_MEMSET: what can be switched on and off."""
_SWITCHES = frozenset({"cuGraphNodeGetEnabled", "cuGraphNodeSetEnabled"})


class GraphNodeWrongType(CallRule):
    """
    checks: A call for graph nodes of one type gets a node of another and fails: for example, it queries kernel parameters of an empty node.
    why: Each type of node has its own parameters. In an executable graph, only kernel, memset and memcpy nodes can be enabled and disabled.
      The driver returns CUDA_ERROR_INVALID_VALUE, or CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE from `cuGraphExecChildGraphNodeSetParams`.
    instead: Query the type of a node that the program did not add with `cuGraphNodeGetType`. Disable only kernel, memset and memcpy nodes.
    limits: Reported only when the call fails. Silent about captured or cloned nodes.
    """

    code = "CV746"
    summary = "a call gets a graph node of the wrong type"
    help = "query the node's type with cuGraphNodeGetType"
    evidence = """
    recorded: cuGraphNodeSetEnabled and cuGraphNodeGetEnabled of empty, host, event wait, child graph and batch memory
      operation nodes, cuGraphKernelNodeGetParams of host and allocation nodes: CUDA_ERROR_INVALID_VALUE
    recorded: cuGraphExecChildGraphNodeSetParams of nodes that are not child graphs: CUDA_ERROR_INVALID_VALUE (8 of 8),
      but with a graph that allocates memory CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE (3 of 3)
    documented: kernel, memset and memcpy nodes only (CUDA Driver API, Graph Management, cuGraphNodeSetEnabled)
    """
    VALID = """
## memset node switched off
graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(64)
fill = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=64, height=1)
node = cu.cuGraphAddMemsetNode(graph, None, 0, fill, context)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphNodeSetEnabled(executable, node, 0)

## memset node asked
graph, memory = cu.cuGraphCreate(0), cu.cuMemAlloc(64)
fill = cu.struct("CUDA_MEMSET_NODE_PARAMS", dst=memory, elementSize=1, width=64, height=1)
node = cu.cuGraphAddMemsetNode(graph, None, 0, fill, context)
cu.cuGraphMemsetNodeGetParams(node, cu.host(64))
"""
    INVALID = """
## kernel parameters of an empty node
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, None, 0)
cu.cuGraphKernelNodeGetParams(node, cu.host(256))  # error: [graph-node-wrong-type]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return "hNode" in entry_point.index and bool(_taken(entry_point.name))

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        index = call.index("hNode")
        node = model.object_of(call, index, Kind.GRAPH_NODE)
        found = None if node is None or not node.alive else node_type(node)
        if node is None or node.created_by is None or found is None or found in _taken(call.name):
            return
        yield cls.refused(
            f"{node.name} is of type {_name(found)}; {call.name} takes {' or '.join(map(_name, _taken(call.name)))}",
            node,
            argument=index,
            because=(f"{node.name} was {'added' if was_added(node) else 'found'} by {place(node.created_by)}",),
            outcomes=(refusal(call, model),),
        )


def _taken(name: str) -> tuple[int, ...]:
    """Types of node that the entry point is for; empty if for all."""
    if name in _SWITCHES:
        return tuple(sorted(_SWITCHED))
    only = type_in_name(name)
    return () if only is None else (only,)


def _name(node_type: int) -> str:
    return next((name for name, value in driver().enumerations["CUgraphNodeType"].items() if value == node_type), "?")
