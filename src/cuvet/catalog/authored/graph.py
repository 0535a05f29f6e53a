"""Graphs, their nodes, executable graphs and user objects.

Nodes that a capture, a clone or a child graph makes are seen when a call hands them out, and body graphs of conditional nodes come
back inside a struct: a graph or node that was never seen created may well be valid.
"""

from cuvet.catalog.authored.words import *
from cuvet.catalog.roles import Kind, Role

_KERNEL_NODE, _GRAPH_NODE, _WAIT_NODE, _RECORD_NODE, _ALLOCATION_NODE = 0, 4, 6, 7, 10
"""CUgraphNodeType"""

_NODE = uses(GRAPH_NODE, "hNode")
_EXEC = uses(GRAPH_EXEC, "hGraphExec")


def _adds_node(*roles: Role) -> tuple[Role, ...]:
    return (
        uses(GRAPH, "hGraph"),
        uses(GRAPH_NODE, "dependencies", count="numDependencies"),
        *roles,
        creates(GRAPH_NODE, "phGraphNode", parent="hGraph"),
    )


def _typed(kind: Kind, field: str, node_type: int) -> Role:
    """A handle in CUgraphNodeParams."""
    return uses(kind, "nodeParams", field=field, null=True, when="type", values=(node_type,))


_FUNCTION = uses(FUNCTION, "nodeParams", field="func", null=True)
_CALLBACK = calls_back("nodeParams", field="fn")
_CONTEXT = uses(CONTEXT, "ctx", null=True)
_BATCH_CONTEXT = uses(CONTEXT, "nodeParams", field="ctx", null=True)
_PARAMETERS = (
    _typed(FUNCTION, "kernel.func", _KERNEL_NODE),
    _typed(GRAPH, "graph.graph", _GRAPH_NODE),
    _typed(EVENT, "eventWait.event", _WAIT_NODE),
    _typed(EVENT, "eventRecord.event", _RECORD_NODE),
)

ROLES: Roles = {
    "cuGraphCreate": (creates(GRAPH, "phGraph"),),
    "cuGraphClone": (uses(GRAPH, "originalGraph"), creates(GRAPH, "phGraphClone")),
    "cuGraphDestroy": (destroys(GRAPH, "hGraph"),),
    **alike("cuGraphDebugDotPrint cuGraphGetId", uses(GRAPH, "hGraph")),
    "cuGraphGetNodes": (uses(GRAPH, "hGraph"), returns(GRAPH_NODE, "nodes", count="numNodes", parent="hGraph")),
    "cuGraphGetRootNodes": (
        uses(GRAPH, "hGraph"),
        returns(GRAPH_NODE, "rootNodes", count="numRootNodes", parent="hGraph"),
    ),
    "cuGraphGetEdges": (
        uses(GRAPH, "hGraph"),
        returns(GRAPH_NODE, "from", count="numEdges", parent="hGraph"),
        returns(GRAPH_NODE, "to", count="numEdges", parent="hGraph"),
    ),
    **alike(
        "cuGraphAddDependencies cuGraphRemoveDependencies",
        uses(GRAPH, "hGraph"),
        uses(GRAPH_NODE, "from", count="numDependencies"),
        uses(GRAPH_NODE, "to", count="numDependencies"),
    ),
    "cuGraphConditionalHandleCreate": (uses(GRAPH, "hGraph"), _CONTEXT),
    **alike("cuGraphRetainUserObject cuGraphReleaseUserObject", uses(GRAPH, "graph"), uses(USER_OBJECT, "object")),
    # Adding nodes
    "cuGraphAddNode": _adds_node(
        *_PARAMETERS,
        allocates("nodeParams", field="alloc.dptr", variant="graph", when="type", values=(_ALLOCATION_NODE,)),
    ),
    "cuGraphAddEmptyNode": _adds_node(),
    "cuGraphAddKernelNode": _adds_node(_FUNCTION),
    **alike("cuGraphAddMemcpyNode cuGraphAddMemsetNode", *_adds_node(_CONTEXT)),
    "cuGraphAddHostNode": _adds_node(_CALLBACK),
    "cuGraphAddChildGraphNode": _adds_node(uses(GRAPH, "childGraph")),
    **alike("cuGraphAddEventRecordNode cuGraphAddEventWaitNode", *_adds_node(uses(EVENT, "event"))),
    "cuGraphAddExternalSemaphoresSignalNode": _adds_node(),
    "cuGraphAddExternalSemaphoresWaitNode": _adds_node(),
    "cuGraphAddBatchMemOpNode": _adds_node(_BATCH_CONTEXT),
    "cuGraphAddMemAllocNode": _adds_node(allocates("nodeParams", field="dptr", variant="graph")),
    "cuGraphAddMemFreeNode": _adds_node(),
    # Nodes
    "cuGraphDestroyNode": (destroys(GRAPH_NODE, "hNode"),),
    "cuGraphNodeFindInClone": (
        uses(GRAPH_NODE, "hOriginalNode"),
        uses(GRAPH, "hClonedGraph"),
        returns(GRAPH_NODE, "phNode", parent="hClonedGraph"),
    ),
    "cuGraphNodeGetContainingGraph": (_NODE, returns(GRAPH, "phGraph")),
    # What it waits for, or what waits for it, is of the same graph.
    "cuGraphNodeGetDependencies": (_NODE, returns(GRAPH_NODE, "dependencies", count="numDependencies", parent="hNode")),
    "cuGraphNodeGetDependentNodes": (
        _NODE,
        returns(GRAPH_NODE, "dependentNodes", count="numDependentNodes", parent="hNode"),
    ),
    **alike(
        """
        cuGraphNodeGetLocalId cuGraphNodeGetParams cuGraphNodeGetToolsId cuGraphNodeGetType
        cuGraphKernelNodeGetAttribute cuGraphKernelNodeSetAttribute cuGraphKernelNodeGetParams
        cuGraphMemcpyNodeGetParams cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams
        cuGraphHostNodeGetParams cuGraphExternalSemaphoresSignalNodeGetParams
        cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeGetParams
        cuGraphExternalSemaphoresWaitNodeSetParams cuGraphBatchMemOpNodeGetParams cuGraphMemAllocNodeGetParams
        cuGraphMemFreeNodeGetParams
        """,
        _NODE,
    ),
    "cuGraphNodeSetParams": (_NODE, *_PARAMETERS),
    "cuGraphKernelNodeCopyAttributes": (uses(GRAPH_NODE, "dst"), uses(GRAPH_NODE, "src")),
    "cuGraphKernelNodeSetParams": (_NODE, _FUNCTION),
    "cuGraphHostNodeSetParams": (_NODE, _CALLBACK),
    # Variant "child": owned by the node.
    "cuGraphChildGraphNodeGetGraph": (_NODE, returns(GRAPH, "phGraph", parent="hNode", variant="child")),
    "cuGraphEventRecordNodeGetEvent": (_NODE, returns(EVENT, "event_out")),
    "cuGraphEventRecordNodeSetEvent": (_NODE, uses(EVENT, "event")),
    "cuGraphEventWaitNodeGetEvent": (_NODE, returns(EVENT, "event_out")),
    "cuGraphEventWaitNodeSetEvent": (_NODE, uses(EVENT, "event")),
    "cuGraphBatchMemOpNodeSetParams": (_NODE, _BATCH_CONTEXT),
    # Executable graphs, which outlive the graph that they were made from
    "cuGraphInstantiate": (in_current_context(), uses(GRAPH, "hGraph"), creates(GRAPH_EXEC, "phGraphExec")),
    "cuGraphInstantiateWithFlags": (in_current_context(), uses(GRAPH, "hGraph"), creates(GRAPH_EXEC, "phGraphExec")),
    "cuGraphInstantiateWithParams": (in_current_context(), uses(GRAPH, "hGraph"), creates(GRAPH_EXEC, "phGraphExec")),
    "cuGraphExecDestroy": (destroys(GRAPH_EXEC, "hGraphExec"),),
    "cuGraphLaunch": (launches("hGraph", GRAPH_EXEC), on("hStream")),
    "cuGraphUpload": (uses(GRAPH_EXEC, "hGraph"), on("hStream")),
    "cuGraphExecUpdate": (_EXEC, uses(GRAPH, "hGraph")),
    **alike("cuGraphExecGetFlags cuGraphExecGetId", _EXEC),
    "cuGraphExecNodeSetParams": (_EXEC, _NODE, *_PARAMETERS),
    "cuGraphExecKernelNodeSetParams": (_EXEC, _NODE, _FUNCTION),
    **alike("cuGraphExecMemcpyNodeSetParams cuGraphExecMemsetNodeSetParams", _EXEC, _NODE, _CONTEXT),
    "cuGraphExecHostNodeSetParams": (_EXEC, _NODE, _CALLBACK),
    "cuGraphExecChildGraphNodeSetParams": (_EXEC, _NODE, uses(GRAPH, "childGraph")),
    **alike("cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent", _EXEC, _NODE, uses(EVENT, "event")),
    "cuGraphExecExternalSemaphoresSignalNodeSetParams": (_EXEC, _NODE),
    "cuGraphExecExternalSemaphoresWaitNodeSetParams": (_EXEC, _NODE),
    "cuGraphExecBatchMemOpNodeSetParams": (_EXEC, _NODE, _BATCH_CONTEXT),
    "cuGraphNodeGetEnabled": (_EXEC, _NODE),
    "cuGraphNodeSetEnabled": (_EXEC, _NODE),
    # User objects are counted; graphs hold some of the counts.
    "cuUserObjectCreate": (calls_back("destroy"), creates(USER_OBJECT, "object_out")),
    **alike("cuUserObjectRetain cuUserObjectRelease", uses(USER_OBJECT, "object", variant="counted")),
}

NO_ROLE: ByReason = {}
