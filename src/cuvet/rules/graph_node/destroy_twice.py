from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH


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
    evidence = """
    measured: SIGSEGV in the driver, no error code (graph_node_destroy_twice)
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

## C++: left to the graph [cuda]
void rebuild(cudaGraph_t graph, const cudaKernelNodeParams *parameters, bool small) {
    cudaGraphNode_t node;
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, parameters);
    if (small)
        cudaGraphDestroyNode(node);
    launch(graph);
    cudaGraphDestroy(graph);
}
"""
    INVALID = """
## destroyed twice
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroyNode(node)
cu.cuGraphDestroyNode(node)  # error: [graph-node-destroy-twice]

## C++: in a branch and at the end [cuda]
void rebuild(cudaGraph_t graph, const cudaKernelNodeParams *parameters, bool small) {
    cudaGraphNode_t node;
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, parameters);
    if (small)
        cudaGraphDestroyNode(node);
    launch(graph);
    cudaGraphDestroyNode(node);  // error: [graph-node-destroy-twice]
}

## Python: destroyed twice [python]
from cuda.bindings import runtime as cudart

def rebuild(graph, launch):
    error, node = cudart.cudaGraphAddEmptyNode(graph, None, 0)
    launch(graph)
    error, = cudart.cudaGraphDestroyNode(node)
    error, = cudart.cudaGraphDestroyNode(node)  # error: [graph-node-destroy-twice]

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Recorder {
    void Rebuild(CUgraph graph) {
        CUgraphNode node = new CUgraphNode();
        Check(GraphManagment.cuGraphAddEmptyNode(ref node, graph, null, 0));
        Launch(graph);
        Check(GraphManagment.cuGraphDestroyNode(node));
        Check(GraphManagment.cuGraphDestroyNode(node));  // error: [graph-node-destroy-twice]
    }
}
"""
