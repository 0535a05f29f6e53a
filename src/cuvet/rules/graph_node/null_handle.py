from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class GraphNodeNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a graph node is given NULL.

    ## Why it is wrong
    NULL is no node; the call was measured to return CUDA_ERROR_INVALID_VALUE. Usually the call that should have added the node
    failed, and nobody looked at its status.

    ## Use instead
    Look at the status of the call that should have added the node.

    ## Limits
    None known.
    """

    code = "CV743"
    name = "graph-node-null-handle"
    severity = "error"
    summary = "NULL is given where a graph node is wanted"
    help = "look at the status of the call that should have added the node"
    kind = Kind.GRAPH_NODE
    outcomes = (1,)
    evidence = """
    measured: cuGraphDestroyNode: CUDA_ERROR_INVALID_VALUE (graph_null)
    """
    VALID = """
## destroyed once
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroyNode(node)
cu.cuGraphDestroy(graph)

## left to the graph
note: destroying a graph destroys its nodes
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroy(graph)
"""
    INVALID = """
## destroyed
cu.cuGraphDestroyNode(0)  # error: [graph-node-null-handle]
"""
