"""Graphs of the runtime API, where they differ from the driver's."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.roles import Kind, Role

_NODE = uses(GRAPH_NODE, "node")
_EXEC = uses(GRAPH_EXEC, "hGraphExec")
_CALLBACK = calls_back("pNodeParams", field="fn")


def _adds_node(*roles: Role) -> tuple[Role, ...]:
    return (
        uses(GRAPH, "graph"),
        uses(GRAPH_NODE, "pDependencies", count="numDependencies"),
        *roles,
        creates(GRAPH_NODE, "pGraphNode", parent="graph"),
    )


def _typed(kind: Kind, field: str, node_type: int) -> Role:
    """A handle in cudaGraphNodeParams."""
    return uses(kind, "nodeParams", field=field, null=True, when="type", values=(node_type,))


_PARAMETERS = (
    _typed(GRAPH, "graph.graph", 4),
    _typed(EVENT, "eventWait.event", 6),
    _typed(EVENT, "eventRecord.event", 7),
)

ROLES: Roles = {
    "cudaGraphAddNode": _adds_node(
        *_PARAMETERS, allocates("nodeParams", field="alloc.dptr", variant="graph", when="type", values=(10,))
    ),
    "cudaGraphAddKernelNode": _adds_node(),
    "cudaGraphAddHostNode": _adds_node(_CALLBACK),
    "cudaGraphAddMemcpyNode": _adds_node(),
    "cudaGraphAddMemcpyNode1D": _adds_node(),
    "cudaGraphAddMemcpyNodeFromSymbol": _adds_node(),
    "cudaGraphAddMemcpyNodeToSymbol": _adds_node(),
    "cudaGraphAddMemsetNode": _adds_node(),
    "cudaGraphAddMemAllocNode": _adds_node(allocates("nodeParams", field="dptr", variant="graph")),
    "cudaGraphKernelNodeSetParams": (_NODE,),
    "cudaGraphHostNodeSetParams": (_NODE, _CALLBACK),
    "cudaGraphMemcpyNodeSetParams1D": (_NODE,),
    "cudaGraphMemcpyNodeSetParamsFromSymbol": (_NODE,),
    "cudaGraphMemcpyNodeSetParamsToSymbol": (_NODE,),
    "cudaGraphNodeSetParams": (_NODE, *_PARAMETERS),
    "cudaGraphExecNodeSetParams": (uses(GRAPH_EXEC, "graphExec"), _NODE, *_PARAMETERS),
    "cudaGraphExecKernelNodeSetParams": (_EXEC, _NODE),
    "cudaGraphExecHostNodeSetParams": (_EXEC, _NODE, _CALLBACK),
    "cudaGraphExecMemcpyNodeSetParams": (_EXEC, _NODE),
    "cudaGraphExecMemcpyNodeSetParams1D": (_EXEC, _NODE),
    "cudaGraphExecMemcpyNodeSetParamsFromSymbol": (_EXEC, _NODE),
    "cudaGraphExecMemcpyNodeSetParamsToSymbol": (_EXEC, _NODE),
    "cudaGraphExecMemsetNodeSetParams": (_EXEC, _NODE),
    "cudaGraphInstantiate": (uses(GRAPH, "graph"), creates(GRAPH_EXEC, "pGraphExec")),
    "cudaGraphConditionalHandleCreate": (uses(GRAPH, "graph"), uses(Kind.GREEN_CONTEXT, "ctx", null=True)),
}

NO_ROLE: ByReason = {}
