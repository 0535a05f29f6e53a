from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import measured
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import CRASH, Example


class GraphNodeUseAfterGraphDestroy(ParentGone):
    """
    ## What it checks
    A call uses or destroys a node whose graph was destroyed.

    ## Why it is wrong
    Destroying a graph destroys its nodes. The call was measured to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Forget the nodes together with their graph. Nodes of an executable graph are named by the node of the graph it was made from:
    keep that graph as long as they are updated.

    ## Limits
    Nodes that were captured, and not added one by one, are not known.
    """

    code = "CV742"
    name = "graph-node-use-after-graph-destroy"
    severity = "error"
    summary = "a node is used after its graph was destroyed"
    help = "keep the graph as long as its nodes are named"
    kind = Kind.GRAPH_NODE
    roots = frozenset({Kind.GRAPH})
    outcomes = (CRASH,)
    evidence = (
        measured(
            "destroying a node of a destroyed graph: SIGSEGV in the driver, no error code",
            "graph_node_after_graph_destroy",
        ),
    )
    VALID = (
        Example(
            "destroyed once",
            """
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroyNode(node)
cu.cuGraphDestroy(graph)
""",
        ),
        Example(
            "left to the graph",
            """
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroy(graph)
""",
            note="destroying a graph destroys its nodes",
        ),
    )
    INVALID = (
        Example(
            "destroyed after its graph",
            """
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroy(graph)
cu.cuGraphDestroyNode(node)  # error: [graph-node-use-after-graph-destroy]
""",
        ),
    )
