from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle


class GraphExecNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs an executable graph is given NULL.

    ## Why it is wrong
    Unlike `free`, destroying a NULL executable graph is an error: it was measured to return
    CUDA_ERROR_INVALID_VALUE.

    ## Use instead
    Look at the status of the call that should have made the executable graph; initialise handles to NULL and
    test them before the call.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV723"
    name = "graph-exec-null-handle"
    severity = "error"
    summary = "NULL is given where an executable graph is wanted"
    help = (
        "look at the status of the call that should have made the executable graph, and skip the call when there "
        "is none"
    )
    kind = Kind.GRAPH_EXEC
    outcomes = (1,)
    evidence = """
    measured: destroy: CUDA_ERROR_INVALID_VALUE, "graph is not a valid executable graph" (event_destroy_null)
    measured: launch: CUDA_ERROR_INVALID_VALUE (graph_null)
    """
    VALID = """
## with a handle
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphExecDestroy(executable)

## skipped when there is none
executable = 0
if executable:
    cu.cuGraphExecDestroy(executable)
"""
    INVALID = """
## used
cu.cuGraphLaunch(0, 0)  # error: [graph-exec-null-handle]

## destroyed
cu.cuGraphExecDestroy(0)  # error: [graph-exec-null-handle]
"""
