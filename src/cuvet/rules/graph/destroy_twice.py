from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice


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
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (graph_destroy_twice)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Graph Management,
      cudaGraphDestroy)
    """
    VALID = """
## destroyed once
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)

## handle issued again
note: the new one often has the old handle value
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)

## C++: captured anew in each round [cuda]
void rounds(cudaStream_t stream, int count) {
    for (int i = 0; i < count; ++i) {
        cudaGraph_t graph;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        step<<<1, 256, 0, stream>>>();
        cudaStreamEndCapture(stream, &graph);
        launch(graph, stream);
        cudaGraphDestroy(graph);
    }
}
"""
    INVALID = """
## destroyed twice
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
cu.cuGraphDestroy(graph)  # error: [graph-destroy-twice]

## destroyed by two threads
graph = cu.cuGraphCreate(0)
cu.in_thread(lambda: cu.cuGraphDestroy(graph))
cu.cuGraphDestroy(graph)  # error: [graph-destroy-twice]

## C++: in the loop and after it [cuda]
void rounds(cudaStream_t stream, int count) {
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    build(graph);
    for (int i = 0; i < count; ++i) {
        launch(graph, stream);
        cudaGraphDestroy(graph);
        cudaGraphCreate(&graph, 0);
        build(graph);
    }
    cudaGraphDestroy(graph);
    cudaGraphDestroy(graph);  // error: [graph-destroy-twice]
}

## Python: in the block and in finally [python]
from cuda.bindings import runtime as cudart

def record(build):
    error, graph = cudart.cudaGraphCreate(0)
    try:
        build(graph)
        error, = cudart.cudaGraphDestroy(graph)
    finally:
        error, = cudart.cudaGraphDestroy(graph)  # error: [graph-destroy-twice]

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Recorder {
    void Record() {
        CUgraph graph = new CUgraph();
        Check(GraphManagment.cuGraphCreate(ref graph, 0));
        Build(graph);
        Check(GraphManagment.cuGraphDestroy(graph));
        Check(GraphManagment.cuGraphDestroy(graph));  // error: [graph-destroy-twice]
    }
}
"""
