from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy


class GraphUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a graph that `cuGraphDestroy` destroyed before.

    ## Why it is wrong
    The graph and all of its nodes are gone. Calls with it were measured to return CUDA_ERROR_INVALID_VALUE;
    they are documented as undefined.

    ## Use instead
    Destroy the graph after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV701"
    name = "graph-use-after-destroy"
    severity = "error"
    summary = "a graph is used after it was destroyed"
    help = "destroy the graph after its last use, or clear the variable that still holds it"
    kind = Kind.GRAPH
    outcomes = (1,)
    evidence = """
    measured: adding a node and instantiating: CUDA_ERROR_INVALID_VALUE (graph_use_after_destroy,
      graph_instantiate_after_destroy)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Graph Management,
      cudaGraphDestroy)
    documented: Destroys the graph specified by hGraph, as well as all of its nodes. (CUDA Driver API, Graph Management,
      cuGraphDestroy)
    """
    VALID = """
## destroyed after its last use
graph = cu.cuGraphCreate(0)
cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphDestroy(graph)

## destroyed after instantiation
note: an executable graph does not need the graph it was made from
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, 0, 0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphDestroy(graph)
cu.cuGraphLaunch(executable, 0)
cu.cuCtxSynchronize()
cu.cuGraphExecDestroy(executable)

## handle issued again
note: the new one often has the old handle value
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
graph = cu.cuGraphCreate(0)
cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphDestroy(graph)

## C++: destroyed once it is instantiated [cuda]
cudaGraphExec_t record(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    step<<<1, 256, 0, stream>>>();
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&launchable, graph, 0);
    cudaGraphDestroy(graph);
    return launchable;
}

## Python: destroyed once it is instantiated [python]
from cuda.bindings import runtime as cudart

def record(build):
    error, graph = cudart.cudaGraphCreate(0)
    build(graph)
    error, launchable = cudart.cudaGraphInstantiate(graph, 0)
    error, = cudart.cudaGraphDestroy(graph)
    return launchable
"""
    INVALID = """
## used after its destruction
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
cu.cuGraphInstantiateWithFlags(graph, 0)  # error: [graph-use-after-destroy]

## used in another way
graph = cu.cuGraphCreate(0)
cu.cuGraphDestroy(graph)
cu.cuGraphClone(graph)  # error: [graph-use-after-destroy]

## destroyed by another thread
graph = cu.cuGraphCreate(0)
cu.in_thread(lambda: cu.cuGraphDestroy(graph))
cu.cuGraphInstantiateWithFlags(graph, 0)  # error: [graph-use-after-destroy]

## C++: instantiated after the destruction [cuda]
cudaGraphExec_t record(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    step<<<1, 256, 0, stream>>>();
    cudaStreamEndCapture(stream, &graph);
    cudaGraphDestroy(graph);
    cudaGraphInstantiate(&launchable, graph, 0);  // error: [graph-use-after-destroy]
    return launchable;
}

## Python: instantiated after the destruction [python]
from cuda.bindings import runtime as cudart

def record(build):
    error, graph = cudart.cudaGraphCreate(0)
    build(graph)
    error, = cudart.cudaGraphDestroy(graph)
    error, launchable = cudart.cudaGraphInstantiate(graph, 0)  # error: [graph-use-after-destroy]
    return launchable

## C#: instantiated after the destruction [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Recorder {
    CUgraphExec Record() {
        CUgraph graph = new CUgraph();
        CUgraphExec launchable = new CUgraphExec();
        Check(GraphManagment.cuGraphCreate(ref graph, 0));
        Build(graph);
        Check(GraphManagment.cuGraphDestroy(graph));
        Check(GraphManagment.cuGraphInstantiate(ref launchable, graph, CUgraphInstantiate_flags.None));  // error: [graph-use-after-destroy]
        return launchable;
    }
}
"""
