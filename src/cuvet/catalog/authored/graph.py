"""Graphs, their nodes, executable graphs and user objects.

Nodes that a capture, a clone or a child graph makes are seen when a call hands them out, and body graphs of conditional nodes come
back inside a struct: a graph or node that was never seen created may well be valid.
"""

from cuvet.catalog.authored.words import (
    CONTEXT,
    EVENT,
    FUNCTION,
    GRAPH,
    GRAPH_EXEC,
    GRAPH_NODE,
    USER_OBJECT,
    Reasons,
    Roles,
    allocates,
    calls_back,
    creates,
    destroys,
    in_current_context,
    launches,
    on,
    returns,
    uses,
)
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
    "cuGraphDebugDotPrint": (uses(GRAPH, "hGraph"),),
    "cuGraphGetId": (uses(GRAPH, "hGraph"),),
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
    "cuGraphAddDependencies": (
        uses(GRAPH, "hGraph"),
        uses(GRAPH_NODE, "from", count="numDependencies"),
        uses(GRAPH_NODE, "to", count="numDependencies"),
    ),
    "cuGraphRemoveDependencies": (
        uses(GRAPH, "hGraph"),
        uses(GRAPH_NODE, "from", count="numDependencies"),
        uses(GRAPH_NODE, "to", count="numDependencies"),
    ),
    "cuGraphConditionalHandleCreate": (uses(GRAPH, "hGraph"), _CONTEXT),
    "cuGraphRetainUserObject": (uses(GRAPH, "graph"), uses(USER_OBJECT, "object")),
    "cuGraphReleaseUserObject": (uses(GRAPH, "graph"), uses(USER_OBJECT, "object")),
    # Adding nodes
    "cuGraphAddNode": _adds_node(
        *_PARAMETERS,
        allocates("nodeParams", field="alloc.dptr", variant="graph", when="type", values=(_ALLOCATION_NODE,)),
    ),
    "cuGraphAddEmptyNode": _adds_node(),
    "cuGraphAddKernelNode": _adds_node(_FUNCTION),
    "cuGraphAddMemcpyNode": _adds_node(_CONTEXT),
    "cuGraphAddMemsetNode": _adds_node(_CONTEXT),
    "cuGraphAddHostNode": _adds_node(_CALLBACK),
    "cuGraphAddChildGraphNode": _adds_node(uses(GRAPH, "childGraph")),
    "cuGraphAddEventRecordNode": _adds_node(uses(EVENT, "event")),
    "cuGraphAddEventWaitNode": _adds_node(uses(EVENT, "event")),
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
    "cuGraphNodeGetDependencies": (
        _NODE,
        returns(GRAPH_NODE, "dependencies", count="numDependencies", parent="hNode"),
    ),
    "cuGraphNodeGetDependentNodes": (
        _NODE,
        returns(GRAPH_NODE, "dependentNodes", count="numDependentNodes", parent="hNode"),
    ),
    "cuGraphNodeGetLocalId": (_NODE,),
    "cuGraphNodeGetParams": (_NODE,),
    "cuGraphNodeGetToolsId": (_NODE,),
    "cuGraphNodeGetType": (_NODE,),
    "cuGraphNodeSetParams": (_NODE, *_PARAMETERS),
    "cuGraphKernelNodeCopyAttributes": (uses(GRAPH_NODE, "dst"), uses(GRAPH_NODE, "src")),
    "cuGraphKernelNodeGetAttribute": (_NODE,),
    "cuGraphKernelNodeSetAttribute": (_NODE,),
    "cuGraphKernelNodeGetParams": (_NODE,),
    "cuGraphKernelNodeSetParams": (_NODE, _FUNCTION),
    "cuGraphMemcpyNodeGetParams": (_NODE,),
    "cuGraphMemcpyNodeSetParams": (_NODE,),
    "cuGraphMemsetNodeGetParams": (_NODE,),
    "cuGraphMemsetNodeSetParams": (_NODE,),
    "cuGraphHostNodeGetParams": (_NODE,),
    "cuGraphHostNodeSetParams": (_NODE, _CALLBACK),
    # Variant "child": owned by the node.
    "cuGraphChildGraphNodeGetGraph": (_NODE, returns(GRAPH, "phGraph", parent="hNode", variant="child")),
    "cuGraphEventRecordNodeGetEvent": (_NODE, returns(EVENT, "event_out")),
    "cuGraphEventRecordNodeSetEvent": (_NODE, uses(EVENT, "event")),
    "cuGraphEventWaitNodeGetEvent": (_NODE, returns(EVENT, "event_out")),
    "cuGraphEventWaitNodeSetEvent": (_NODE, uses(EVENT, "event")),
    "cuGraphExternalSemaphoresSignalNodeGetParams": (_NODE,),
    "cuGraphExternalSemaphoresSignalNodeSetParams": (_NODE,),
    "cuGraphExternalSemaphoresWaitNodeGetParams": (_NODE,),
    "cuGraphExternalSemaphoresWaitNodeSetParams": (_NODE,),
    "cuGraphBatchMemOpNodeGetParams": (_NODE,),
    "cuGraphBatchMemOpNodeSetParams": (_NODE, _BATCH_CONTEXT),
    "cuGraphMemAllocNodeGetParams": (_NODE,),
    "cuGraphMemFreeNodeGetParams": (_NODE,),
    # Executable graphs, which outlive the graph that they were made from
    "cuGraphInstantiate": (in_current_context(), uses(GRAPH, "hGraph"), creates(GRAPH_EXEC, "phGraphExec")),
    "cuGraphInstantiateWithFlags": (in_current_context(), uses(GRAPH, "hGraph"), creates(GRAPH_EXEC, "phGraphExec")),
    "cuGraphInstantiateWithParams": (in_current_context(), uses(GRAPH, "hGraph"), creates(GRAPH_EXEC, "phGraphExec")),
    "cuGraphExecDestroy": (destroys(GRAPH_EXEC, "hGraphExec"),),
    "cuGraphLaunch": (launches("hGraph", GRAPH_EXEC), on("hStream")),
    "cuGraphUpload": (uses(GRAPH_EXEC, "hGraph"), on("hStream")),
    "cuGraphExecUpdate": (_EXEC, uses(GRAPH, "hGraph")),
    "cuGraphExecGetFlags": (_EXEC,),
    "cuGraphExecGetId": (_EXEC,),
    "cuGraphExecNodeSetParams": (_EXEC, _NODE, *_PARAMETERS),
    "cuGraphExecKernelNodeSetParams": (_EXEC, _NODE, _FUNCTION),
    "cuGraphExecMemcpyNodeSetParams": (_EXEC, _NODE, _CONTEXT),
    "cuGraphExecMemsetNodeSetParams": (_EXEC, _NODE, _CONTEXT),
    "cuGraphExecHostNodeSetParams": (_EXEC, _NODE, _CALLBACK),
    "cuGraphExecChildGraphNodeSetParams": (_EXEC, _NODE, uses(GRAPH, "childGraph")),
    "cuGraphExecEventRecordNodeSetEvent": (_EXEC, _NODE, uses(EVENT, "event")),
    "cuGraphExecEventWaitNodeSetEvent": (_EXEC, _NODE, uses(EVENT, "event")),
    "cuGraphExecExternalSemaphoresSignalNodeSetParams": (_EXEC, _NODE),
    "cuGraphExecExternalSemaphoresWaitNodeSetParams": (_EXEC, _NODE),
    "cuGraphExecBatchMemOpNodeSetParams": (_EXEC, _NODE, _BATCH_CONTEXT),
    "cuGraphNodeGetEnabled": (_EXEC, _NODE),
    "cuGraphNodeSetEnabled": (_EXEC, _NODE),
    # User objects are counted; graphs hold some of the counts.
    "cuUserObjectCreate": (calls_back("destroy"), creates(USER_OBJECT, "object_out")),
    "cuUserObjectRetain": (uses(USER_OBJECT, "object", variant="counted"),),
    "cuUserObjectRelease": (uses(USER_OBJECT, "object", variant="counted"),),
}

NO_ROLE: Reasons = {}
