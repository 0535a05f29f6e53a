from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class GraphNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs a graph is given NULL.

    ## Why it is wrong
    Unlike `free`, destroying a NULL graph is an error: it was measured to return CUDA_ERROR_INVALID_VALUE.

    ## Use instead
    Look at the status of the call that should have made the graph; initialise handles to NULL and test them
    before the call.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV703"
    name = "graph-null-handle"
    severity = "error"
    summary = "NULL is given where a graph is wanted"
    help = "look at the status of the call that should have made the graph, and skip the call when there is none"
    kind = Kind.GRAPH
    outcomes = (1,)
    evidence = """
    measured: destroy: CUDA_ERROR_INVALID_VALUE, "the source graph pointer is NULL" (event_destroy_null)
    measured: instantiate and add a node: CUDA_ERROR_INVALID_VALUE (graph_null)
    """
    VALID = """
## with a handle
graph = cu.cuGraphCreate(0)
cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphDestroy(graph)

## skipped when there is none
graph = 0
if graph:
    cu.cuGraphDestroy(graph)
"""
    INVALID = """
## used
cu.cuGraphInstantiateWithFlags(0, 0)  # error: [graph-null-handle]

## destroyed
cu.cuGraphDestroy(0)  # error: [graph-null-handle]
"""
