from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import documented, measured
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import Example


class GraphExecDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuGraphExecDestroy` is called with an executable graph that was destroyed before.

    ## Why it is wrong
    The first call released the executable graph. The second was measured to return CUDA_ERROR_INVALID_VALUE; it
    is documented as undefined.

    ## Use instead
    Give the executable graph one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV722"
    name = "graph-exec-destroy-twice"
    severity = "error"
    summary = "an executable graph is destroyed twice"
    help = "let one owner destroy the executable graph, and clear its handle at that moment"
    kind = Kind.GRAPH_EXEC
    outcomes = (1,)
    evidence = (
        measured(
            "CUDA_ERROR_INVALID_VALUE",
            "graph_exec_destroy_twice",
        ),
        documented(
            "Use of the handle after this call is undefined behavior.",
            "CUDA Runtime API, Graph Management, cudaGraphExecDestroy",
        ),
    )
    VALID = (
        Example(
            "destroyed once",
            """
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
""",
        ),
        Example(
            "handle issued again",
            """
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
""",
            note="the new one often has the old handle value",
        ),
    )
    INVALID = (
        Example(
            "destroyed twice",
            """
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
cu.cuGraphExecDestroy(executable)  # error: [graph-exec-destroy-twice]
""",
        ),
        Example(
            "destroyed by two threads",
            """
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.in_thread(lambda: cu.cuGraphExecDestroy(executable))
cu.cuGraphExecDestroy(executable)  # error: [graph-exec-destroy-twice]
""",
        ),
    )
