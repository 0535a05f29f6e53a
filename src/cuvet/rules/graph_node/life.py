from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NULL_HANDLE
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.GRAPH_NODE,
    name="graph-node",
    make="cu.cuGraphAddEmptyNode(cu.cuGraphCreate(0), 0, 0)",
    end="cu.cuGraphDestroyNode({})",
    variable="node",
    cpp=Spelled(
        type="cudaGraphNode_t",
        given="cudaGraph_t graph",
        make="cudaGraphAddEmptyNode(&node, graph, nullptr, 0)",
        end="cudaGraphDestroyNode(node)",
    ),
    python=Spelled(
        given="graph",
        make="error, node = runtime.cudaGraphAddEmptyNode(graph, None, 0)",
        end="error, = runtime.cudaGraphDestroyNode(node)",
    ),
    csharp=Spelled(
        type="CUgraphNode",
        given="CUgraph graph",
        make="GraphManagment.cuGraphAddEmptyNode(ref node, graph, null, 0)",
        end="GraphManagment.cuGraphDestroyNode(node)",
    ),
    mistakes=(
        Mistake(DESTROYED_TWICE, "CV741", (CRASH,), without=("handle issued again", "destroyed by two threads")),
        Mistake(NULL_HANDLE, "CV743", (1,)),
    ),
)

TEXTS = """
# graph-node-destroy-twice
help: let one owner destroy the node, or leave it to the graph
why: The handle points at memory that the driver has released. The call was measured to die of SIGSEGV inside the
  driver, with no error code.
instead: Give the node one owner, which destroys it once, or leave it to the destruction of the graph.
measured: SIGSEGV in the driver, no error code (graph_node_destroy_twice)

# graph-node-destroy-twice: right

## left to the graph
note: destroying a graph destroys its nodes
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, 0, 0)
cu.cuGraphDestroy(graph)

## captured meanwhile
note: the captured node can have the handle of the destroyed one
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroyNode(cu.cuGraphAddEmptyNode(graph, 0, 0))
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
captured = cu.captured_nodes(stream)
recorded = cu.cuStreamEndCapture(stream)
for node in captured:
    cu.cuGraphDestroyNode(node)
cu.cuGraphDestroy(recorded)
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

# graph-node-destroy-twice: wrong

## a captured node, destroyed twice
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
(node,) = cu.captured_nodes(stream)
graph = cu.cuStreamEndCapture(stream)
cu.cuGraphDestroyNode(node)
cu.cuGraphDestroyNode(node)  # error: [graph-node-destroy-twice]
cu.cuGraphDestroy(graph)

# graph-node-null-handle
why: The call was measured to return CUDA_ERROR_INVALID_VALUE. Usually adding the node failed.
measured: cuGraphDestroyNode: CUDA_ERROR_INVALID_VALUE (graph_null)
"""
