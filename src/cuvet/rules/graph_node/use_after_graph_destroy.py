from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import ParentGone
from cuvet.rules.rule import CRASH


class GraphNodeUseAfterGraphDestroy(ParentGone):
    """
    checks: A call uses or destroys a node whose graph was destroyed.
    why: Destroying a graph destroys its nodes. The call was measured to die of SIGSEGV inside the driver, with no error code.
    instead: Discard the nodes with their graph. An executable graph's nodes are named by the original's: keep that graph.
    limits: A captured or cloned node is known once a call returns it (`cuStreamGetCaptureInfo`, `cuGraphGetNodes` and similar), and it can
      have the handle of a destroyed one. Silent if the call succeeds, because its handle is of another node. The node in the result of a
      failed `cuGraphInstantiate` or `cuGraphExecUpdate` is not seen.
    """

    code = "CV742"
    summary = "a node is used after its graph was destroyed"
    help = "keep the graph as long as its nodes are used"
    kind = Kind.GRAPH_NODE
    roots = frozenset({Kind.GRAPH})
    outcomes = (CRASH,)
    evidence = """
    measured: destroying a node of a destroyed graph: SIGSEGV in the driver, no error code
      (graph_node_after_graph_destroy)
    measured: made a dependency of another graph's node: CUDA_ERROR_INVALID_VALUE (graph_node_dependency_after_destroy)
    measured: its type asked for: no error (graph_node_asked_after_destroy)
    measured: captured nodes get the handles of nodes of destroyed graphs (captured_nodes_reissued)
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

## captured meanwhile
note: the captured node can have the handle of the one that ended
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroy(graph)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
(node,) = cu.captured_nodes(stream)
cu.cuGraphNodeGetType(node)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## C++: the graph is kept as long as its nodes are named [cuda]
void update(cudaStream_t stream, const cudaKernelNodeParams *first, const cudaKernelNodeParams *second) {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaGraphNode_t node;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, first);
    cudaGraphInstantiate(&launchable, graph, 0);
    cudaGraphLaunch(launchable, stream);
    cudaGraphExecKernelNodeSetParams(launchable, node, second);
    cudaGraphLaunch(launchable, stream);
    cudaGraphExecDestroy(launchable);
    cudaGraphDestroy(graph);
}
"""
    INVALID = """
## destroyed after its graph
graph = cu.cuGraphCreate(0)
node = cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroy(graph)
cu.cuGraphDestroyNode(node)  # error: [graph-node-use-after-graph-destroy]

## a captured node, destroyed after its graph
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
(node,) = cu.captured_nodes(stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuGraphDestroyNode(node)  # error: [graph-node-use-after-graph-destroy]

## C++: updated after its graph was destroyed [cuda]
void update(cudaStream_t stream, const cudaKernelNodeParams *first, const cudaKernelNodeParams *second) {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaGraphNode_t node;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, first);
    cudaGraphInstantiate(&launchable, graph, 0);
    cudaGraphDestroy(graph);
    cudaGraphLaunch(launchable, stream);
    cudaGraphExecKernelNodeSetParams(launchable, node, second);  // error: [graph-node-use-after-graph-destroy]
    cudaGraphLaunch(launchable, stream);
    cudaGraphExecDestroy(launchable);
}

## Python: destroyed after its graph [python cudart]
def build(launch):
    error, graph = cudart.cudaGraphCreate(0)
    error, node = cudart.cudaGraphAddEmptyNode(graph, None, 0)
    launch(graph)
    error, = cudart.cudaGraphDestroy(graph)
    error, = cudart.cudaGraphDestroyNode(node)  # error: [graph-node-use-after-graph-destroy]

## C#: destroyed after its graph [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Recorder {
    void Build() {
        CUgraph graph = new CUgraph();
        CUgraphNode node = new CUgraphNode();
        Check(GraphManagment.cuGraphCreate(ref graph, 0));
        Check(GraphManagment.cuGraphAddEmptyNode(ref node, graph, null, 0));
        Launch(graph);
        Check(GraphManagment.cuGraphDestroy(graph));
        Check(GraphManagment.cuGraphDestroyNode(node));  // error: [graph-node-use-after-graph-destroy]
    }
}
"""
