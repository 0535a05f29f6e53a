from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import documented, measured
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import Example


class GraphDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuGraphDestroy` is called with a graph that was destroyed before.

    ## Why it is wrong
    The first call released the graph and its nodes. The second was measured to return CUDA_ERROR_INVALID_VALUE;
    it is documented as undefined.

    ## Use instead
    Give the graph one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV702"
    name = "graph-destroy-twice"
    severity = "error"
    summary = "a graph is destroyed twice"
    help = "let one owner destroy the graph, and clear its handle at that moment"
    kind = Kind.GRAPH
    outcomes = (1,)
    evidence = (
        measured(
            "CUDA_ERROR_INVALID_VALUE",
            "graph_destroy_twice",
        ),
        documented(
            "Use of the handle after this call is undefined behavior.",
            "CUDA Runtime API, Graph Management, cudaGraphDestroy",
        ),
    )
    VALID = (
        Example(
            "destroyed once",
            """
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
""",
        ),
        Example(
            "handle issued again",
            """
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
""",
            note="the new one often has the old handle value",
        ),
    )
    INVALID = (
        Example(
            "destroyed twice",
            """
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
cu.cuGraphDestroy(graph)  # error: [graph-destroy-twice]
""",
        ),
        Example(
            "destroyed by two threads",
            """
graph = cu.cuGraphCreate(0)
cu.in_thread(lambda: cu.cuGraphDestroy(graph))
cu.cuGraphDestroy(graph)  # error: [graph-destroy-twice]
""",
        ),
    )
