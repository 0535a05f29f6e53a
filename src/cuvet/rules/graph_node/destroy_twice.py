from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import measured
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH, Example


class GraphNodeDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuGraphDestroyNode` is called with a node that was destroyed before.

    ## Why it is wrong
    The handle points at memory that the driver has given back. The call was measured to die of SIGSEGV inside the driver,
    with no error code.

    ## Use instead
    Give the node one owner, which destroys it once; or leave it to the graph, whose destruction destroys its nodes.

    ## Limits
    When a new node has the old one's handle value, a second destruction looks like the first of the new node.
    """

    code = "CV741"
    name = "graph-node-destroy-twice"
    severity = "error"
    summary = "a graph node is destroyed twice"
    help = "let one owner destroy the node, or leave it to the graph"
    kind = Kind.GRAPH_NODE
    outcomes = (CRASH,)
    evidence = (measured("SIGSEGV in the driver, no error code", "graph_node_destroy_twice"),)
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
            "destroyed twice",
            """
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroyNode(node)
cu.cuGraphDestroyNode(node)  # error: [graph-node-destroy-twice]
""",
        ),
    )
